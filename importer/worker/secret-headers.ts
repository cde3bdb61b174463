/**
 * Secret headers of the request for the image: files under a folder, one header in each, as Secrets are mounted.
 *
 * Names with a dot in front are the mount's own bookkeeping and are passed over; what an administrator sees are links to
 * files, which are followed. The order is by name, folder by folder, and is the order that the headers are sent in.
 */
import fs from "node:fs";
import path from "node:path";
import { errnoName, UsageError } from "../errors.ts";

/** Each is mounted in a folder of its own, so a tree is two deep. */
const MAX_DEPTH = 8;

/** Of files and folders. A request with more headers is refused by every server. */
const MAX_ENTRIES = 256;

/** Servers refuse longer headers. */
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * @returns the files' contents; nothing where there is no such folder
 * @throws UsageError where there is too much of it, or it cannot be read
 */
export function readSecretHeaders(folder: string): readonly string[] {
  const headers: string[] = [];
  const count = { entries: 0 };
  try {
    for (const file of filesUnder(folder, 0, count)) headers.push(readHeader(file));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`the headers in ${folder} cannot be read`, { cause: error });
  }
  return headers;
}

function* filesUnder(folder: string, depth: number, count: { entries: number }): Generator<string> {
  for (const name of namesIn(folder, depth)) {
    count.entries += 1;
    if (count.entries > MAX_ENTRIES) throw new UsageError(`there are more than ${MAX_ENTRIES} headers in ${folder}`);
    const place = path.join(folder, name);
    const stat = fs.lstatSync(place);
    if (stat.isDirectory()) {
      if (depth + 1 === MAX_DEPTH) throw new UsageError(`the folders of headers in ${folder} are too deep`);
      yield* filesUnder(place, depth + 1, count);
    } else if (stat.isFile() || (stat.isSymbolicLink() && fs.statSync(place).isFile())) {
      yield place;
    }
  }
}

function namesIn(folder: string, depth: number): string[] {
  try {
    const names = fs.readdirSync(folder).filter((name) => !name.startsWith("."));
    return names.sort();
  } catch (error) {
    if (depth === 0 && errnoName(error) === "ENOENT") return [];
    throw error;
  }
}

function readHeader(file: string): string {
  const bytes = new Uint8Array(MAX_HEADER_BYTES + 1);
  const fd = fs.openSync(file, "r");
  try {
    const length = fs.readSync(fd, bytes);
    if (length > MAX_HEADER_BYTES) throw new UsageError(`${file} is no header: it is longer than ${MAX_HEADER_BYTES}`);
    return Buffer.from(bytes.subarray(0, length)).toString("utf8");
  } finally {
    fs.closeSync(fd);
  }
}
