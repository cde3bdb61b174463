/**
 * The disk formats, in the order in which they are probed. Raw claims everything and stays last.
 */
import type { DiskFormat } from "./disk-format.ts";
import { qcow2 } from "./qcow2/qcow2.ts";
import { raw } from "./raw.ts";
import { vdi } from "./vdi.ts";
import { vhdx } from "./vhdx/vhdx.ts";
import { vmdk } from "./vmdk/vmdk.ts";
import { vpc } from "./vpc/vpc.ts";

export const diskFormats: readonly DiskFormat[] = [qcow2, vdi, vhdx, vmdk, vpc, raw];

/** The first format that recognises the file; raw if none does. */
export function detectFormat(head: Uint8Array, tail: Uint8Array | undefined): DiskFormat {
  return diskFormats.find((format) => format.probe(head, tail)) ?? raw;
}
