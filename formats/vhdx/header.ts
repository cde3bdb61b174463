/**
 * The header section: file type identifier, two headers, two region tables ([MS-VHDX] 2.2).
 *
 * It is the first MiB of the file, and its structures end at 320 KiB. Each header carries a sequence number; the valid one
 * with the greater number is current. A writer that died in between leaves one header damaged, which is a warning.
 */
import { hasMagic, hex, isAligned, KIB, MIB, u64le, viewOf } from "../bytes.ts";
import type { Warning } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { crc32cOfStructure } from "./structure-checksum.ts";
import { GUID_LENGTH, isNilGuid } from "./guid.ts";

/** The bytes of the header section that hold structures; nothing else may lie in the first MiB. */
export const HEADER_SECTION_USED = 320 * KIB;
export const HEADER_SECTION_LENGTH = MIB;

const FILE_IDENTIFIER = "vhdxfile";
const HEADER_OFFSETS = [64 * KIB, 128 * KIB] as const;
const HEADER_LENGTH = 4 * KIB;
const SUPPORTED_VERSION = 1;
const SUPPORTED_LOG_VERSION = 0;

/** What the current header says. */
export interface Header {
  /** Host range of the log; both multiples of 1 MiB, the length may be 0. */
  readonly logOffset: number;
  readonly logLength: number;
  /** The GUID that valid log entries carry, in its binary form; undefined if there is no log to replay. */
  readonly logGuid: Uint8Array | undefined;
}

/** True if the file starts with the file type identifier. */
export function isVhdx(head: Uint8Array): boolean {
  return hasMagic(head, FILE_IDENTIFIER);
}

/**
 * Finds the current header.
 * @param section the first HEADER_SECTION_USED bytes of the file
 * @param warnings a damaged header is added to it
 * @throws FormatError FORMAT_CORRUPT without a valid header, FORMAT_UNSUPPORTED for another version
 */
export function readHeader(section: Uint8Array, warnings: Warning[]): Header {
  if (!isVhdx(section)) throw new FormatError("FORMAT_UNRECOGNISED", `a VHDX file starts with "${FILE_IDENTIFIER}"`);
  const [first, second] = HEADER_OFFSETS.map((offset) => validHeader(section.subarray(offset, offset + HEADER_LENGTH)));
  if (first !== undefined && second !== undefined) return parseHeader(newer(first, second));
  const only = first ?? second;
  if (only === undefined) {
    throw new FormatError("FORMAT_CORRUPT", "neither of the two VHDX headers has a valid signature and checksum", {
      remedy: "The file is damaged; take another copy of it.",
    });
  }
  const damaged = first === undefined ? HEADER_OFFSETS[0] : HEADER_OFFSETS[1];
  warnings.push({
    code: "VHDX_HEADER_DAMAGED",
    message: `the header at ${hex(damaged)} is damaged; the other is used`,
  });
  return parseHeader(only);
}

function validHeader(bytes: Uint8Array): Uint8Array | undefined {
  if (!hasMagic(bytes, "head")) return undefined;
  return viewOf(bytes).getUint32(4, true) === crc32cOfStructure(bytes) ? bytes : undefined;
}

function newer(first: Uint8Array, second: Uint8Array): Uint8Array {
  const firstNumber = viewOf(first).getBigUint64(8, true);
  const secondNumber = viewOf(second).getBigUint64(8, true);
  if (firstNumber === secondNumber && first.some((byte, i) => byte !== second[i])) {
    throw new FormatError(
      "FORMAT_CORRUPT",
      `both VHDX headers have the sequence number ${firstNumber} and they differ`,
      {
        remedy: "The file is damaged; take another copy of it.",
      },
    );
  }
  return firstNumber >= secondNumber ? first : second;
}

function parseHeader(bytes: Uint8Array): Header {
  const view = viewOf(bytes);
  const version = view.getUint16(66, true);
  if (version !== SUPPORTED_VERSION) {
    throw new FormatError("FORMAT_UNSUPPORTED", `the VHDX file has version ${version}; only version 1 is known`, {
      remedy: "Convert it with the program that wrote it.",
    });
  }
  const logVersion = view.getUint16(64, true);
  if (logVersion !== SUPPORTED_LOG_VERSION) {
    throw new FormatError("FORMAT_UNSUPPORTED", `the VHDX log has version ${logVersion}; only version 0 is known`, {
      remedy: "Attach the disk once where it was written, so that the log is replayed, or convert it there.",
    });
  }
  const logLength = view.getUint32(68, true);
  const logOffset = u64le(view, 72, "LogOffset");
  if (
    !isAligned(logLength, MIB) ||
    !isAligned(logOffset, MIB) ||
    (logLength > 0 && logOffset < HEADER_SECTION_LENGTH)
  ) {
    throw new FormatError(
      "FORMAT_INVALID",
      `the log lies at ${hex(logOffset)} with length ${hex(logLength)}, which are not multiples of 1 MiB after the header section`,
    );
  }
  const noLog = logLength === 0 || isNilGuid(bytes, 48);
  return { logOffset, logLength, logGuid: noLog ? undefined : bytes.slice(48, 48 + GUID_LENGTH) };
}
