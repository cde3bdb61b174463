/**
 * Info: looks at the source's first bytes, takes off the wrappers, opens the disk image, and says how it can be read.
 */
import { driveParser } from "../drive-parser.ts";
import { ChecksummedStream } from "../checksum.ts";
import { CountedStream } from "../counted-stream.ts";
import { StreamPour } from "../engine/pour-stream.ts";
import { Slab } from "../engine/slab.ts";
import { SourceError } from "../errors.ts";
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { DiskImage } from "../../formats/disk-format.ts";
import type { Outcome } from "../phases.ts";
import { needsSecondReading, openSecondReading } from "../second-reading.ts";
import { spillInto } from "../spill-file.ts";
import { refuseWarnings, sourceWaitMs } from "../run.ts";
import type { Run } from "../run.ts";
import type { UnwrapOptions } from "../unwrap.ts";
import { unwrapSource } from "../unwrap-source.ts";

/** Slots of a stream: 16 MiB on their way through. */
const SLOTS = 16;

export async function info(run: Run): Promise<Outcome<"Info">> {
  const { options, source } = run;
  const isTree = options.unpackInto !== undefined;
  const unwrapping: UnwrapOptions = {
    decoders: options.decoders,
    memoryLimit: options.memoryLimit,
    format: isTree ? undefined : options.format,
    member: options.member,
    archives: options.archives && !isTree,
  };
  const unwrapped = await unwrapSource(source, {
    ...unwrapping,
    // A checksum is over the bytes as they are stored, so they pass in order.
    inOrder: options.checksum !== undefined || isTree,
    asOneStream: options.asOneStream === true,
    opened: (remote) => (run.remote = remote),
    passing: (stream) => passingStream(run, stream),
  });
  run.unwrapped = unwrapped;
  if (unwrapped.head.length === 0) {
    throw new SourceError("SOURCE_TRUNCATED", `${source.name} is empty`, {
      remedy: "Whatever was to deliver it has failed.",
    });
  }
  if (isTree) return "archive";
  if (needsSecondReading(run)) run.secondReading = await openSecondReading(run, unwrapping);
  if (unwrapped.file !== undefined) {
    setImage(run, await driveParser(unwrapped.format.open(unwrapped.file.size), unwrapped.file));
    return "random-access";
  }
  if (unwrapped.stream === undefined) throw new Error("neither a file nor a stream");
  run.stream = new StreamPour(timedStream(run, unwrapped.stream), new Slab(SLOTS), () =>
    spillInto(options.spillFolder),
  );
  setImage(run, await run.stream.drive(unwrapped.format.open(undefined)));
  return "stream";
}

function passingStream(run: Run, stream: ByteStream): ByteStream {
  run.counted = new CountedStream(stream);
  if (run.options.checksum === undefined) return run.counted;
  run.checksummed = new ChecksummedStream(run.counted, run.options.checksum);
  return run.checksummed;
}

/** The image's bytes: what they take longer than the source's own is the work of its wrappers. */
function timedStream(run: Run, stream: ByteStream): ByteStream {
  const timed = new CountedStream(stream);
  const waitedBefore = sourceWaitMs(run);
  run.unwrapMs = () => Math.max(0, timed.waitedMs - (sourceWaitMs(run) - waitedBefore));
  return timed;
}

function setImage(run: Run, image: DiskImage): void {
  run.image = image;
  run.virtualSize = image.virtualSize;
  refuseWarnings(run);
}
