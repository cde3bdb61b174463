/**
 * Builds OVAs in memory: a tar of a descriptor (DMTF DSP0243), a manifest and disks, in any order.
 */
import crypto from "node:crypto";
import zlib from "node:zlib";
import { buildTar } from "./build-tar.ts";
import type { TarEntry } from "./build-tar.ts";

export interface OvaDisk {
  /** The member's name; the descriptor's href too, unless `href` is given. */
  readonly name: string;
  readonly href?: string;
  /** The disk's file; undefined leaves it out of the archive. */
  readonly content: Uint8Array | undefined;
  /** Bytes that the guest sees; 1 GiB unless given. */
  readonly capacity?: number;
  readonly chunkSize?: number;
  /** The id of a parent disk: `disk1` is the first. */
  readonly parentRef?: string;
}

export interface OvaOptions {
  readonly disks: readonly OvaDisk[];
  /** Adds a manifest with these digests. */
  readonly manifest?: "sha1" | "sha256" | "sha512";
  /** Stores the disks as gzip and says so in the descriptor. */
  readonly gzip?: boolean;
  /** What comes in which order; `ovf`, `mf`, `disks` unless given. */
  readonly order?: readonly ("ovf" | "mf" | "disks")[];
  /** Members at the end that the descriptor does not mention. */
  readonly extra?: readonly TarEntry[];
}

export function buildOva(options: OvaOptions): Uint8Array {
  return buildTar(ovaEntries(options));
}

/** The members, for a test that changes one before it packs them. */
export function ovaEntries(options: OvaOptions): TarEntry[] {
  const ovf: TarEntry = { name: "vm.ovf", content: Buffer.from(buildOvf(options)) };
  const disks = options.disks.flatMap((disk): TarEntry[] => {
    const content = storedContent(disk, options);
    return content === undefined ? [] : [{ name: disk.name, content }];
  });
  const entries: Record<"ovf" | "mf" | "disks", TarEntry[]> = { ovf: [ovf], disks, mf: [] };
  if (options.manifest !== undefined) {
    entries.mf = [{ name: "vm.mf", content: Buffer.from(manifestOf([ovf, ...disks], options.manifest)) }];
  }
  return [...(options.order ?? ["ovf", "mf", "disks"]).flatMap((part) => entries[part]), ...(options.extra ?? [])];
}

export function manifestOf(entries: readonly TarEntry[], algorithm: string): string {
  const line = ({ name, content }: TarEntry): string => {
    const digest = crypto
      .createHash(algorithm)
      .update(content ?? "")
      .digest("hex");
    return `${algorithm.toUpperCase()}(${name})= ${digest}\n`;
  };
  return entries.map(line).join("");
}

/** The descriptor alone. */
export function buildOvf(options: Pick<OvaOptions, "disks" | "gzip">): string {
  const files = options.disks.map((disk, index) => {
    const size = storedContent(disk, options)?.length ?? 0;
    return `    <File ovf:id="file${index + 1}" ovf:href="${disk.href ?? disk.name}" ovf:size="${size}"${attributes({
      "ovf:compression": options.gzip === true ? "gzip" : undefined,
      "ovf:chunkSize": disk.chunkSize,
    })}/>`;
  });
  const disks = options.disks.map((disk, index) => {
    const units = attributes({ "ovf:capacityAllocationUnits": "byte", "ovf:parentRef": disk.parentRef });
    const format = "http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized";
    const ids = `ovf:diskId="disk${index + 1}" ovf:fileRef="file${index + 1}"`;
    return `    <Disk ovf:capacity="${disk.capacity ?? 2 ** 30}"${units} ${ids} ovf:format="${format}"/>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1">
  <References>
${files.join("\n")}
  </References>
  <DiskSection>
    <Info>Virtual disks &amp; their files</Info>
${disks.join("\n")}
  </DiskSection>
  <VirtualSystem ovf:id="vm">
    <Info>A virtual machine</Info>
  </VirtualSystem>
</Envelope>
`;
}

function storedContent(disk: OvaDisk, options: Pick<OvaOptions, "gzip">): Uint8Array | undefined {
  if (disk.content === undefined || options.gzip !== true) return disk.content;
  return zlib.gzipSync(disk.content);
}

function attributes(values: Readonly<Record<string, string | number | undefined>>): string {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return present.map(([name, value]) => ` ${name}="${value}"`).join("");
}
