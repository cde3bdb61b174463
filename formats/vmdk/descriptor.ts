/**
 * The descriptor of a VMDK: text that names the disk's type, its parent, and the extents that hold its data.
 *
 * VMware "Virtual Disk Format 5.0", "The Descriptor File". It is a file of its own, or embedded in a sparse extent. It is
 * read only to refuse what one file does not hold: no name in it is ever opened, and what is shown of it is bounded and
 * printable, because anyone may have written it.
 */
import { ascii } from "../bytes.ts";
import { FormatError } from "../errors.ts";

/** What a descriptor that is a file of its own begins with. */
export const DESCRIPTOR_MAGIC = "# Disk DescriptorFile";
export const MAX_DESCRIPTOR_LENGTH = 256 * 1024; // usual: 10 KiB

const NO_PARENT = "ffffffff";
const READABLE_TYPES = ["monolithicSparse", "streamOptimized"];
const MAX_NAMES_SHOWN = 8;
const MAX_NAME_LENGTH = 100;

const EXTENT_LINE = /^(?:RW|RDONLY|NOACCESS)[ \t]+(\d{1,15})[ \t]+([A-Za-z0-9]{1,20})(?:[ \t]+"([^"]*)")?/;
const VALUE_LINE = /^([A-Za-z]{1,40})[ \t]*=[ \t]*(.*)$/;

const AS_ONE_FILE =
  "Make one file of it first, where the others are and if you trust it: " +
  "vmware-vdiskmanager -r <descriptor> -t 0 <new file>, or qemu-img convert -O qcow2 <descriptor> <new file>.";

export interface DescribedExtent {
  /** `SPARSE`, `FLAT`, `ZERO`, `VMFS`, … */
  readonly type: string;
  readonly sizeInSectors: number;
  /** As the descriptor has it; empty for `ZERO`. */
  readonly fileName: string;
}

export interface Descriptor {
  /** Lower case, `ffffffff` for none; undefined if the descriptor does not say. */
  readonly parentCid: string | undefined;
  readonly parentFileName: string | undefined;
  readonly createType: string | undefined;
  readonly extents: readonly DescribedExtent[];
}

/** Reads a descriptor; lines that are nothing known are passed over. A NUL ends it. */
export function parseDescriptor(bytes: Uint8Array): Descriptor {
  const nul = bytes.indexOf(0);
  const text = ascii(bytes, 0, nul < 0 ? bytes.length : nul);
  const values = new Map<string, string>();
  const extents: DescribedExtent[] = [];
  for (const line of text.split(/\r\n|\r|\n/).map((raw) => raw.trim())) {
    const extent = EXTENT_LINE.exec(line);
    if (extent !== null) {
      extents.push({
        sizeInSectors: Number(extent[1]),
        type: (extent[2] ?? "").toUpperCase(),
        fileName: extent[3] ?? "",
      });
      continue;
    }
    const value = VALUE_LINE.exec(line);
    if (value !== null) values.set((value[1] ?? "").toLowerCase(), (value[2] ?? "").replace(/^"(.*)"$/, "$1"));
  }
  return {
    parentCid: values.get("parentcid")?.toLowerCase(),
    parentFileName: values.get("parentfilenamehint"),
    createType: values.get("createtype"),
    extents,
  };
}

/**
 * Refuses what stands alone as a descriptor, and says which files it needs.
 * @throws FormatError FORMAT_UNSUPPORTED always
 */
export function refuseDescriptorFile(descriptor: Descriptor): never {
  refuseParent(descriptor);
  throw new FormatError(
    "FORMAT_UNSUPPORTED",
    `this VMDK is only a descriptor${typeText(descriptor)}: the disk is in ${namesText(descriptor)}`,
    { remedy: AS_ONE_FILE, context: { format: "vmdk", extents: shownNames(descriptor) } },
  );
}

/**
 * Accepts the descriptor embedded in a sparse extent only if that extent is the whole disk.
 * @throws FormatError FORMAT_UNSUPPORTED, by name
 */
export function checkEmbeddedDescriptor(descriptor: Descriptor): void {
  refuseParent(descriptor);
  const { createType, extents } = descriptor;
  if (createType === undefined && extents.length === 0) refuseLoneExtent();
  if (extents.length > 1 || extents.some((extent) => extent.type !== "SPARSE")) {
    throw new FormatError(
      "FORMAT_UNSUPPORTED",
      `this VMDK is one part of a disk${typeText(descriptor)} that is in ${namesText(descriptor)}`,
      { remedy: AS_ONE_FILE, context: { format: "vmdk", extents: shownNames(descriptor) } },
    );
  }
  if (createType !== undefined && !READABLE_TYPES.includes(createType)) {
    throw new FormatError(
      "FORMAT_UNSUPPORTED",
      `VMDK type ${shown(createType)} is not read, only ${READABLE_TYPES.join(" and ")}`,
      { remedy: AS_ONE_FILE },
    );
  }
}

/** @throws FormatError FORMAT_UNSUPPORTED always: a sparse extent without a descriptor is a part of a split disk */
export function refuseLoneExtent(): never {
  throw new FormatError(
    "FORMAT_UNSUPPORTED",
    "this VMDK is one extent of a split disk: its descriptor is in another file",
    { remedy: AS_ONE_FILE },
  );
}

function refuseParent({ parentCid, parentFileName }: Descriptor): void {
  const named = parentFileName !== undefined && parentFileName !== "";
  if (!named && (parentCid === undefined || parentCid === NO_PARENT)) return;
  const parent = named ? shown(parentFileName) : `the disk with CID ${shown(parentCid ?? "")}`;
  throw new FormatError(
    "FORMAT_UNSUPPORTED",
    `this VMDK is a snapshot or linked clone: it needs its parent, ${parent}`,
    {
      remedy: "Consolidate it into its parent first: vmware-vdiskmanager -r <this file> -t 0 <new file>.",
    },
  );
}

function typeText({ createType }: Descriptor): string {
  return createType === undefined ? "" : ` of type ${shown(createType)}`;
}

function namesText(descriptor: Descriptor): string {
  const names = shownNames(descriptor);
  if (names.length === 0) return "other files, which it does not name";
  const count = descriptor.extents.length;
  const more = count > names.length ? ` and ${count - names.length} more` : "";
  return names.join(", ") + more;
}

function shownNames({ extents }: Descriptor): string[] {
  return extents.slice(0, MAX_NAMES_SHOWN).map(({ type, fileName }) => (fileName === "" ? type : shown(fileName)));
}

/** A name in quotes, cut to a bounded length, with nothing in it that a terminal would obey. */
function shown(name: string): string {
  const cut = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}...` : name;
  return `"${cut.replace(/[^\x20-\x7e]/g, "?")}"`;
}
