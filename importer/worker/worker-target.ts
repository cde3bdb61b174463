/**
 * The worker's target: disk.img on a filesystem volume, or the block volume as a whole. An archive needs none.
 */
import path from "node:path";
import { unpacksArchive } from "../config.ts";
import type { WorkerConfig } from "../config.ts";
import { UsageError } from "../errors.ts";
import { loadKernel } from "../kernel.ts";
import type { Volume } from "../target-size.ts";
import { openBlockDevice } from "../targets/block-device.ts";
import { openFileTarget } from "../targets/file.ts";
import { openNullTarget } from "../targets/null.ts";
import type { Target } from "../targets/target.ts";
import { DISK_NAME } from "./paths.ts";
import type { WorkerPaths } from "./paths.ts";

/** Whoever runs the virtual machine is another user of the same group. */
const DISK_MODE = 0o660;

/** Where the disk goes, as it is shown and synced; of an archive the folder, whatever the volume. */
export function diskPath(kind: Volume["kind"], paths: WorkerPaths, config: WorkerConfig): string {
  if (unpacksArchive(config)) return paths.data;
  return kind === "block" ? paths.device : path.join(paths.data, DISK_NAME);
}

/** @throws TargetError */
export function openWorkerTarget(kind: Volume["kind"], paths: WorkerPaths, config: WorkerConfig): Target {
  if (unpacksArchive(config)) return openForTree(kind);
  const place = diskPath(kind, paths, config);
  const kernel = loadKernel();
  const common = { preallocate: config.preallocation ? "falloc" : "off", direct: config.directIo, kernel } as const;
  if (kind === "block") return openBlockDevice(place, { ...common, assumeZero: false });
  return openFileTarget(place, place, { ...common, force: true, mode: DISK_MODE, owner: undefined });
}

/** A tree of files is unpacked beside the engine. */
function openForTree(kind: Volume["kind"]): Target {
  if (kind === "filesystem") return openNullTarget();
  throw new UsageError("an archive is a tree of files, and a block volume takes none", {
    remedy: "Claim a filesystem volume.",
  });
}
