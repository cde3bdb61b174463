/**
 * How large the disk becomes, and whether an image fits: pure arithmetic over what is known of the volume.
 *
 * The filesystem overhead is the share of a volume that its filesystem takes for itself. It limits how far a disk is grown;
 * it does not limit an image, which only has to fit what is really there. All sizes are bytes. The formulas are calculated
 * in doubles in exactly this order: others calculate the same ones, and the results must agree to the byte.
 */
import { TargetError } from "./errors.ts";

const MIB = 1024 * 1024;

/** The volume that a disk is poured into, as it is found before anything is written. */
export type Volume =
  | { readonly kind: "block"; readonly capacity: number }
  | {
      readonly kind: "filesystem";
      /** What an ordinary user may still write: f_bavail * f_bsize. */
      readonly free: number;
      /** The claim's storage request; undefined: the disk keeps its image's size. */
      readonly requested: number | undefined;
      /** 0.06 for 6 %. */
      readonly overhead: number;
    };

/** The largest disk of whole MiB for which a filesystem of `available` bytes has room besides its overhead. */
export function usableSpace(overhead: number, available: number): number {
  return Math.floor(Math.ceil(available / (1 + overhead)) / MIB) * MIB;
}

/** The size of a filesystem volume on which a disk of `requested` bytes, rounded up to whole MiB, is usable. */
export function requiredSpace(overhead: number, requested: number): number {
  return Math.ceil(Math.ceil(requested / MIB) * MIB * (1 + overhead));
}

/** What an image is compared with. A filesystem shared with others may have more free than the claim asked for. */
export function availableSpace(volume: Volume): number {
  if (volume.kind === "block") return volume.capacity;
  return Math.min(volume.free, volume.requested ?? volume.free);
}

/** The disk's size at the end: grown to what the claim asks for and its filesystem bears, never cut. A device has its size. */
export function finalDiskSize(virtualSize: number, volume: Volume): number {
  if (volume.kind === "block" || volume.requested === undefined) return virtualSize;
  return Math.max(virtualSize, Math.min(usableSpace(volume.overhead, availableSpace(volume)), volume.requested));
}

/**
 * Size of a disk without an image. On a device: the bytes to fill with zeros, which is asked for by preallocation only.
 * @param requested of a device's claim; undefined: all of it
 */
export function blankDiskSize(volume: Volume, preallocation: boolean, requested?: number): number {
  if (volume.kind === "filesystem") return usableSpace(volume.overhead, availableSpace(volume));
  return preallocation ? Math.min(volume.capacity, requested ?? volume.capacity) : 0;
}

/** For the log, where the disk will be smaller than the claim promises; undefined where it is not. */
export function sizeWarning(volume: Volume): string | undefined {
  if (volume.kind === "block" || volume.requested === undefined || volume.free >= volume.requested) return undefined;
  return `available space ${volume.free} is less than the requested size ${volume.requested}: the disk will be smaller`;
}

/**
 * @param known `at least`: of a stream that has not ended yet
 * @throws TargetError TARGET_TOO_SMALL with every figure that is needed to choose a claim that works
 */
export function requireRoom(virtualSize: number, volume: Volume, known: "exactly" | "at least" = "exactly"): void {
  const available = availableSpace(volume);
  if (virtualSize <= available) return;
  const shortfall = virtualSize - available;
  const claim = claimFor(virtualSize, volume);
  const least = known === "at least" ? "at least " : "";
  const size = known === "at least" ? `of at least ${virtualSize}` : String(virtualSize);
  throw new TargetError(
    "TARGET_TOO_SMALL",
    `virtual image size ${size} is larger than the reported available storage ${available}`,
    {
      remedy: `A larger PVC is required: ${figures(volume)}, ${least}${shortfall} more are needed, and a claim of ${least}${claim}Mi would work`,
      context: { virtualSize, available, shortfall, claim: `${claim}Mi` },
    },
  );
}

/**
 * A claim of whole MiB on which a disk of this size is usable, in MiB: the smallest one, unless this filesystem was seen to take
 * more for itself than the overhead says, as that of a small volume does.
 */
function claimFor(virtualSize: number, volume: Volume): number {
  if (volume.kind === "block") return Math.ceil(requiredSpace(0, virtualSize) / MIB);
  const { free, requested = 0, overhead } = volume;
  const asSeen = free > 0 && free < requested ? virtualSize * (requested / free) : 0;
  return Math.ceil(Math.max(requiredSpace(overhead, virtualSize), asSeen) / MIB);
}

function figures(volume: Volume): string {
  if (volume.kind === "block") return `the volume has ${volume.capacity} bytes, all usable`;
  const { free, requested, overhead } = volume;
  const claim = requested === undefined ? "" : ` of ${requested} claimed`;
  const usable = usableSpace(overhead, availableSpace(volume));
  return `the volume has ${free} bytes free${claim}, ${usable} usable at an overhead of ${overhead}`;
}
