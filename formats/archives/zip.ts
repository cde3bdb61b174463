/**
 * Zip: recognised, so that it is refused by name and not poured out as a raw disk.
 *
 * Its directory is at the end and may contradict the local headers, so it cannot be read in one pass (PKWARE APPNOTE,
 * 4.3). Recognised by a plausible local header (4.3.7), the end of an empty archive (4.3.16) or the marker of a split
 * one (8.5.4).
 */
import { hasMagic, viewOf } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import type { Archive } from "./archive.ts";

const LOCAL_HEADER = "PK\x03\x04";
const END_OF_DIRECTORY = "PK\x05\x06";
const SPLIT = "PK\x07\x08";

const LOCAL_HEADER_LENGTH = 30;
const END_OF_DIRECTORY_LENGTH = 22;

/** "Version needed to extract" is 6.3 in the latest specification; its high byte names a system, below 20. */
const MAX_VERSION = 100;
const MAX_SYSTEM = 20;

/** The highest number of a compression method that is given away: 99, AES. */
const MAX_METHOD = 99;

export const zip: Archive = {
  name: "zip",
  probe(head) {
    if (hasMagic(head, SPLIT)) return isLocalHeader(head.subarray(SPLIT.length));
    return isLocalHeader(head) || isEmptyArchive(head);
  },
  // oxlint-disable-next-line require-yield -- refused before anything is asked for
  *members() {
    throw new FormatError("FORMAT_UNSUPPORTED", "the file is a zip archive, which cannot be read in one pass", {
      remedy: "Unzip it first.",
    });
  },
};

function isLocalHeader(head: Uint8Array): boolean {
  if (!hasMagic(head, LOCAL_HEADER) || head.length < LOCAL_HEADER_LENGTH) return false;
  const view = viewOf(head);
  const nameLength = view.getUint16(26, true);
  const nameIsText = head.subarray(LOCAL_HEADER_LENGTH, LOCAL_HEADER_LENGTH + nameLength).every((byte) => byte >= 0x20);
  return (
    (head[4] ?? 0) <= MAX_VERSION &&
    (head[5] ?? 0) < MAX_SYSTEM &&
    view.getUint16(8, true) <= MAX_METHOD &&
    nameLength > 0 &&
    nameIsText
  );
}

/** Nothing but the end record: no entries, an empty directory at offset 0. */
function isEmptyArchive(head: Uint8Array): boolean {
  return (
    hasMagic(head, END_OF_DIRECTORY) &&
    head.length >= END_OF_DIRECTORY_LENGTH &&
    head.subarray(4, 20).every((byte) => byte === 0)
  );
}
