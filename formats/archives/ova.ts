/**
 * The OVF descriptor of an OVA (DMTF DSP0243, "References" and "DiskSection"), and version 0.9's older form of it.
 *
 * Only what leads to a disk's file is read. Files in pieces (`chunkSize`) and disks with a parent are reported here and
 * refused by whoever chooses the disk.
 */
import { FormatError } from "../errors.ts";
import { quoted } from "./shown-names.ts";
import { attribute, children, parseXml } from "./xml.ts";
import type { XmlNode } from "./xml.ts";

/** Descriptors have 10 to 100 KB; the largest part is hardware and licence texts. */
export const MAX_OVF_LENGTH = 4 * 1024 * 1024;

/** Disks and files of one descriptor; a virtual machine has at most 256 disks. */
const MAX_OVF_ENTRIES = 1024;

export interface OvfDisk {
  readonly id: string;
  /** The file that holds it, as the descriptor spells it; undefined for a blank disk. */
  readonly href: string | undefined;
  /** Bytes of that file in the archive, where the descriptor says so. */
  readonly fileSize: number | undefined;
  /** Bytes of the disk that the guest sees; undefined where it is a variable (`${size}`) or has unknown units. */
  readonly capacity: number | undefined;
  /** A URI: `http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized`. */
  readonly format: string;
  /** Of the file in the archive. */
  readonly compression: "gzip" | "identity";
  /** If present, the file lies in the archive in pieces of so many bytes. */
  readonly chunkSize: number | undefined;
  /** If present, the disk holds only what differs from this one. */
  readonly parent: string | undefined;
}

/**
 * @param xml the descriptor, UTF-8
 * @returns its disks in their order, blank ones too
 * @throws FormatError FORMAT_INVALID, FORMAT_UNSUPPORTED (a document type, a compression), FORMAT_OUT_OF_BOUNDS (a limit)
 */
export function parseOvf(xml: Uint8Array): OvfDisk[] {
  if (xml.length > MAX_OVF_LENGTH) throw tooLong(xml.length);
  const envelope = children(parseXml(xml), "Envelope")[0];
  if (envelope === undefined) throw new FormatError("FORMAT_INVALID", "the OVF descriptor has no Envelope");
  const files = new Map<string, XmlNode>();
  for (const file of bounded(children(envelope, "References").flatMap((node) => children(node, "File")))) {
    const id = required(file, "id", "File");
    if (files.has(id))
      throw new FormatError("FORMAT_INVALID", `the OVF descriptor has two files with the id ${quoted(id)}`);
    files.set(id, file);
  }
  return bounded(diskSections(envelope).flatMap((section) => children(section, "Disk"))).map((disk) =>
    toDisk(disk, files),
  );
}

/** OVF 0.9 has one element for all sections, and names their kind in an attribute. */
function diskSections(envelope: XmlNode): XmlNode[] {
  const old = children(envelope, "Section").filter((node) => attribute(node, "type")?.endsWith("DiskSection_Type"));
  return [...children(envelope, "DiskSection"), ...old];
}

function toDisk(disk: XmlNode, files: ReadonlyMap<string, XmlNode>): OvfDisk {
  const id = required(disk, "diskId", "Disk");
  const fileRef = attribute(disk, "fileRef");
  const file = fileRef === undefined ? undefined : files.get(fileRef);
  if (fileRef !== undefined && file === undefined) {
    throw new FormatError(
      "FORMAT_INVALID",
      `disk ${quoted(id)} of the OVF descriptor refers to no file: ${quoted(fileRef)}`,
    );
  }
  return {
    id,
    href: file === undefined ? undefined : required(file, "href", "File"),
    fileSize: wholeNumber(file === undefined ? undefined : attribute(file, "size")),
    capacity: capacityOf(disk),
    format: attribute(disk, "format") ?? "",
    compression: compressionOf(id, file === undefined ? undefined : attribute(file, "compression")),
    chunkSize: wholeNumber(file === undefined ? undefined : attribute(file, "chunkSize")),
    parent: attribute(disk, "parentRef"),
  };
}

function compressionOf(id: string, value: string | undefined): OvfDisk["compression"] {
  if (value === undefined || value === "" || value === "identity") return "identity";
  if (value === "gzip") return "gzip";
  throw new FormatError(
    "FORMAT_UNSUPPORTED",
    `disk ${quoted(id)} of the OVF descriptor has the compression ${quoted(value)}`,
    {
      remedy: "Unpack the OVA and decompress the disk first.",
    },
  );
}

/** Capacity times its units (DSP0004 annex C.1: `byte * 2^30`). */
function capacityOf(disk: XmlNode): number | undefined {
  const capacity = wholeNumber(attribute(disk, "capacity"));
  const units = unitsOf(attribute(disk, "capacityAllocationUnits") ?? "byte");
  if (capacity === undefined || units === undefined) return undefined;
  if (Number.isSafeInteger(capacity * units)) return capacity * units;
  throw new FormatError(
    "FORMAT_OUT_OF_BOUNDS",
    "the OVF descriptor has a disk with a capacity above the limit of 2^53 - 1",
  );
}

/** The names that OVF 0.9 used before units were formulas. */
const OLD_UNITS: Readonly<Record<string, number>> = { KiloBytes: 2 ** 10, MegaBytes: 2 ** 20, GigaBytes: 2 ** 30 };

function unitsOf(text: string): number | undefined {
  if (Object.hasOwn(OLD_UNITS, text)) return OLD_UNITS[text];
  const [base, ...factors] = text.split("*").map((part) => part.trim());
  if (base !== "byte" && base !== "bytes") return undefined;
  let units = 1;
  for (const factor of factors) {
    const match = /^(\d{1,16})(?:\^(\d{1,2}))?$/.exec(factor);
    if (match === null) return undefined;
    units *= Number(match[1]) ** Number(match[2] ?? 1);
  }
  return units;
}

function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,16}$/.test(text)) return undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

function required(node: XmlNode, name: string, element: string): string {
  const value = attribute(node, name);
  if (value !== undefined && value !== "") return value;
  throw new FormatError("FORMAT_INVALID", `the OVF descriptor has a ${element} without ${name}`);
}

function bounded(nodes: XmlNode[]): XmlNode[] {
  if (nodes.length <= MAX_OVF_ENTRIES) return nodes;
  throw new FormatError("FORMAT_OUT_OF_BOUNDS", `the OVF descriptor has more than ${MAX_OVF_ENTRIES} files or disks`);
}

/** The descriptor is longer than what is read of one. */
export function tooLong(length: number): FormatError {
  return new FormatError(
    "FORMAT_OUT_OF_BOUNDS",
    `the OVF descriptor has ${length} bytes, above the limit of ${MAX_OVF_LENGTH}`,
  );
}
