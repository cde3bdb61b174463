/**
 * A file of extra headers, one `Name: value` a line. Empty lines, and those that begin with #, are none.
 *
 * Headers are often tokens, so they come from a file: what stands on a command line is seen by every user of the machine.
 */
import { UsageError } from "../importer/errors.ts";

/** All headers of a request together; servers refuse more than a few KiB. */
export const MAX_HEADER_FILE_BYTES = 64 * 1024;

/** RFC 9110 5.6.2. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** No control characters but tabs. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * @param name of the file, for the error
 * @throws UsageError that names the line, and not what stands in it
 */
export function parseHeaders(text: string, name: string): [name: string, value: string][] {
  return text.split("\n").flatMap((raw, i): [string, string][] => {
    const line = raw.replace(/\r$/, "");
    if (line.trim() === "" || line.startsWith("#")) return [];
    const colon = line.indexOf(":");
    const header = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    if (colon === -1 || !NAME.test(header) || !VALUE.test(value)) {
      throw new UsageError(`line ${i + 1} of ${name} is no header of the form "Name: value"`);
    }
    return [[header, value]];
  });
}
