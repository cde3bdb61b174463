/**
 * The log ([MS-VHDX] 2.3): updates of metadata that a writer which died may not have written to their place.
 *
 * The active sequence is the valid one with the greatest sequence number; its entries, from the tail that its newest
 * entry names, are replayed into an overlay in memory. A log that a header names but that has no valid sequence means
 * a damaged file, as the specification says.
 */
import { alignUp, hex, MIB } from "../bytes.ts";
import type { Parsing } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import type { HostFile } from "./host-file.ts";
import { LogRing } from "./log-entry.ts";
import type { LogEntry } from "./log-entry.ts";
import { LOG_SECTOR, LogOverlay } from "./overlay.ts";

/** The longest log that is replayed, which bounds the overlay too. Hyper-V's and qemu's logs have 1 MiB. */
const MAX_LOG_LENGTH = 32 * MIB;
const MAX_ZERO_DESCRIPTORS = 16_384; // keeps the time to merge them below a second

export interface ReplayedLog {
  readonly overlay: LogOverlay;
  readonly entryCount: number;
}

/**
 * Reads the log and replays it in memory.
 * @param file the stored file, without an overlay
 * @param logOffset host offset
 * @param guid the header's LogGuid, not nil, in binary form
 * @throws FormatError FORMAT_OUT_OF_BOUNDS beyond a limit; FORMAT_CORRUPT without a valid sequence, or if the file was cut
 *         short after the log was written
 */
export function* replayLog(
  file: HostFile,
  logOffset: number,
  logLength: number,
  guid: Uint8Array,
): Parsing<ReplayedLog> {
  if (logLength > MAX_LOG_LENGTH) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the log has ${logLength} bytes, above the limit of ${MAX_LOG_LENGTH}`,
      {
        remedy: "Attach the disk once where it was written, so that the log is replayed.",
      },
    );
  }
  const ring = new LogRing(yield* file.read(logOffset, logLength), guid);
  const sequence = activeSequence(ring);
  const head = sequence.at(-1);
  if (head === undefined) {
    throw new FormatError(
      "FORMAT_CORRUPT",
      `the log at host offset ${hex(logOffset)} is in use but has no valid sequence of entries`,
      {
        remedy: "The file is damaged; attach the disk once where it was written, or take another copy of it.",
      },
    );
  }
  if (file.storedSize !== undefined && file.storedSize < head.flushedFileOffset) {
    throw new FormatError(
      "FORMAT_CORRUPT",
      `the file has ${hex(file.storedSize)} bytes, but had ${hex(head.flushedFileOffset)} when its log was written`,
      {
        remedy: "The file was cut short; copy it again.",
      },
    );
  }
  const overlay = overlayOf(ring, sequence);
  overlay.growTo(alignUp(head.lastFileOffset, MIB));
  // Oldest of all: what the replay appends to the file is zeros unless an update says otherwise.
  if (file.storedSize !== undefined) overlay.addOlderZeros(file.storedSize, overlay.fileSize);
  overlay.seal();
  return { overlay, entryCount: sequence.length };
}

/** The entries to replay, oldest first; empty if there is no valid sequence. */
function activeSequence(ring: LogRing): readonly LogEntry[] {
  let active: readonly LogEntry[] = [];
  for (let position = 0; position < ring.length;) {
    const run = runFrom(ring, position);
    const head = run.at(-1);
    const tailIndex = run.findIndex((entry) => entry.position === head?.tail);
    if (head === undefined || tailIndex < 0) {
      position += LOG_SECTOR;
      continue;
    }
    if (head.sequenceNumber > (active.at(-1)?.sequenceNumber ?? 0n)) active = run.slice(tailIndex);
    for (const entry of run) position += entry.length; // past the ring's end if it wrapped: then all was seen
  }
  return active;
}

/** Valid entries one after the other from `start`, their sequence numbers rising by one; at most once around. */
function runFrom(ring: LogRing, start: number): LogEntry[] {
  const run: LogEntry[] = [];
  let length = 0;
  let expected: bigint | undefined;
  while (length < ring.length) {
    const entry = ring.entryAt((start + length) % ring.length);
    if (entry === undefined || length + entry.length > ring.length) break;
    if (expected !== undefined && entry.sequenceNumber !== expected) break;
    run.push(entry);
    length += entry.length;
    expected = entry.sequenceNumber + 1n;
  }
  return run;
}

function overlayOf(ring: LogRing, sequence: readonly LogEntry[]): LogOverlay {
  const overlay = new LogOverlay();
  let zeroDescriptors = 0;
  for (const entry of sequence.toReversed()) {
    for (const update of ring.updatesOf(entry).toReversed()) {
      if (update.kind === "data") {
        overlay.addOlderSector(update.offset, update.bytes());
        continue;
      }
      if (++zeroDescriptors > MAX_ZERO_DESCRIPTORS) {
        throw new FormatError("FORMAT_OUT_OF_BOUNDS", `the log has more than ${MAX_ZERO_DESCRIPTORS} zero descriptors`);
      }
      overlay.addOlderZeros(update.offset, update.offset + update.length);
    }
  }
  return overlay;
}
