/**
 * Which sample images there are, and the command that makes each.
 *
 * A command runs in a folder of its own that holds `patterned.raw`, `two-partitions.raw` (base-disks.ts) and `sample.ovf`,
 * and leaves the image in `out`. What no tool here can write (a VHDX log, 4096-byte sectors, a grain directory in the
 * footer …) is built in memory by the tests, under test/support.
 */
export interface Variant {
  /** Below images/; `.gz` is added where the image is stored gzipped to be small. */
  readonly name: string;
  /** The disk format inside all wrappers. */
  readonly format: "raw" | "qcow2" | "vmdk" | "vpc" | "vhdx" | "vdi";
  /** From the outermost inwards; none if left out. */
  readonly wrappers?: readonly string[];
  readonly command: string;
  readonly features: readonly string[];
  /** The error code with which it is refused. */
  readonly refused?: "FORMAT_UNSUPPORTED";
  /** Stored as it is even if it is large. */
  readonly unpacked?: true;
}

const QCOW2 = "qemu-img convert -f raw -O qcow2";
const VMDK = "qemu-img convert -f raw -O vmdk -o subformat";
const VPC = "qemu-img convert -f raw -O vpc";
const VHDX = "qemu-img convert -f raw -O vhdx";
const VDI = "qemu-img convert -f raw -O vdi";
const TAR = "tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@1700000000";
const PAX = `${TAR} --format=pax --pax-option=delete=atime,delete=ctime`;

const rawDisks: readonly Variant[] = [
  raw("raw/patterned.raw", [], "cp patterned.raw out", "no format at all"),
  raw("raw/volume.iso", [], "mkdir v && head -c 9000 patterned.raw > v/a && genisoimage -quiet -o out v", "ISO 9660"),
];

const qcow2Disks: readonly Variant[] = [
  {
    name: "qcow2/two-partitions.qcow2", // the README's example
    format: "qcow2",
    command: `${QCOW2} -c -o cluster_size=8k two-partitions.raw out`,
    features: ["zlib clusters of 8 KiB", "GUID partition table", "FAT16", "ext4"],
    unpacked: true,
  },
  image("qcow2/plain.qcow2", `${QCOW2} patterned.raw out`, "version 3"),
  image("qcow2/version-2.qcow2", `${QCOW2} -o compat=0.10 patterned.raw out`, "version 2"),
  image("qcow2/cluster-512.qcow2", `${QCOW2} -o cluster_size=512 patterned.raw out`, "clusters of 512 bytes"),
  image("qcow2/cluster-2m.qcow2", `${QCOW2} -o cluster_size=2M patterned.raw out`, "clusters of 2 MiB"),
  image("qcow2/zlib.qcow2", `${QCOW2} -c patterned.raw out`, "zlib clusters"),
  image("qcow2/zstd.qcow2", `${QCOW2} -c -o compression_type=zstd patterned.raw out`, "zstd clusters"),
  image("qcow2/extended-l2.qcow2", `${QCOW2} -o extended_l2=on,cluster_size=128k patterned.raw out`, "extended L2"),
  image("qcow2/refcount-1.qcow2", `${QCOW2} -o refcount_bits=1 patterned.raw out`, "refcounts of 1 bit"),
  image("qcow2/refcount-64.qcow2", `${QCOW2} -o refcount_bits=64 patterned.raw out`, "refcounts of 64 bits"),
  image("qcow2/preallocated.qcow2", `${QCOW2} -o preallocation=metadata patterned.raw out`, "preallocated metadata"),
  image(
    "qcow2/zero-clusters.qcow2",
    `${QCOW2} patterned.raw out && qemu-io -f qcow2 -c 'write -P 5 2M 256k' -c 'write -z 2M 64k' -c 'write -zu 2176k 64k' out`,
    "zero clusters, with and without space",
  ),
  image(
    "qcow2/snapshots.qcow2",
    `${QCOW2} patterned.raw out && qemu-img snapshot -c one out && qemu-io -f qcow2 -c 'write -P 1 0 70k' out && ` +
      "qemu-img snapshot -c two out && qemu-io -f qcow2 -c 'write -P 2 64k 70k' out",
    "2 internal snapshots",
  ),
  image(
    // qemu-io stops without closing the image, which leaves the dirty bit and refcounts that were never written.
    "qcow2/dirty.qcow2",
    `${QCOW2} -o lazy_refcounts=on patterned.raw out && qemu-io -f qcow2 -c 'write -P 3 1500k 70k' -c flush -c abort out || true`,
    "dirty bit, lazy refcounts",
  ),
  refused(
    "qcow2/backing-file.qcow2",
    `${QCOW2} patterned.raw base.qcow2 && qemu-img create -f qcow2 -b base.qcow2 -F qcow2 out`,
    "backing file",
  ),
  refused(
    "qcow2/data-file.qcow2",
    `${QCOW2} -o data_file=data.raw,data_file_raw=on patterned.raw out`,
    "external data file",
  ),
  refused(
    "qcow2/encrypted.qcow2",
    "qemu-img create -f qcow2 --object secret,id=s,data=decant -o encrypt.format=aes,encrypt.key-secret=s out 4M",
    "AES encryption",
  ),
];

const otherDisks: readonly Variant[] = [
  image("vmdk/monolithic-sparse.vmdk", `${VMDK}=monolithicSparse patterned.raw out`, "sparse extent"),
  image("vmdk/stream-optimized.vmdk", `${VMDK}=streamOptimized patterned.raw out`, "compressed grains, markers"),
  image(
    "vmdk/zeroed-grain.vmdk",
    `${VMDK}=monolithicSparse,zeroed_grain=on patterned.raw out && qemu-io -f vmdk -c 'write -z 1M 64k' out`,
    "zeroed grain",
  ),
  refused("vmdk/flat.vmdk", `${VMDK}=monolithicFlat patterned.raw out`, "text descriptor naming a flat extent"),
  refused(
    "vmdk/parent.vmdk",
    `${VMDK}=monolithicSparse patterned.raw base.vmdk && qemu-img create -f vmdk -b base.vmdk -F vmdk out`,
    "parent link",
  ),
  image("vpc/dynamic.vhd", `${VPC} -o force_size=on patterned.raw out`, "dynamic"),
  image("vpc/dynamic-chs.vhd", `${VPC} patterned.raw out`, "dynamic, size from the geometry"),
  image("vpc/fixed.vhd", `${VPC} -o subformat=fixed,force_size=on patterned.raw out`, "fixed"),
  image("vhdx/dynamic.vhdx", `${VHDX} -o block_size=1M patterned.raw out`, "dynamic, blocks of 1 MiB"),
  image("vhdx/block-size-8m.vhdx", `${VHDX} -o block_size=8M patterned.raw out`, "dynamic, blocks of 8 MiB"),
  image("vhdx/fixed.vhdx", `${VHDX} -o subformat=fixed,block_size=1M patterned.raw out`, "fixed"),
  image("vdi/dynamic.vdi", `${VDI} patterned.raw out`, "dynamic"),
  image("vdi/static.vdi", `${VDI} -o static=on patterned.raw out`, "static"),
];

const compressed: readonly Variant[] = [
  raw("gzip/patterned.raw.gz", ["gzip"], "gzip -9 -n < patterned.raw > out", "one member"),
  raw(
    "gzip/members-and-padding.raw.gz",
    ["gzip"],
    "(head -c 1M patterned.raw | gzip -9n; tail -c +1048577 patterned.raw | gzip -6n; head -c 512 /dev/zero) > out",
    "two members, zero padding",
  ),
  raw("zstd/patterned.raw.zst", ["zstd"], "zstd -q -19 patterned.raw -o out", "content size declared"),
  raw("zstd/size-unknown.raw.zst", ["zstd"], "zstd -q -3 < patterned.raw > out", "no content size"),
  raw("zstd/skippable-frames.raw.zst", ["zstd"], "pzstd -q -p 2 patterned.raw -o out", "frames, some to be skipped"),
  raw("xz/patterned.raw.xz", ["xz"], "xz -9e < patterned.raw > out", "CRC64 check"),
  raw("xz/blocks.raw.xz", ["xz"], "xz --block-size=1MiB < patterned.raw > out", "several blocks"),
  raw(
    "xz/streams-and-padding.raw.xz",
    ["xz"],
    "(head -c 1M patterned.raw | xz -C crc32; head -c 8 /dev/zero; tail -c +1048577 patterned.raw | xz -C none) > out",
    "two streams, stream padding, CRC32 check, no check",
  ),
  raw("xz/sha256-x86.raw.xz", ["xz"], "xz -C sha256 --x86 --lzma2 < patterned.raw > out", "SHA-256 check, x86 filter"),
  raw("bzip2/patterned.raw.bz2", ["bzip2"], "bzip2 -9 < patterned.raw > out", "one stream"),
  raw("lzma/patterned.raw.lzma", ["lzma"], "xz --format=lzma < patterned.raw > out", "LZMA alone"),
];

const archives: readonly Variant[] = [
  raw("tar/ustar.tar", ["tar"], `${TAR} --format=ustar -cf out patterned.raw`, "ustar"),
  raw("tar/pax.tar", ["tar"], `${PAX} --pax-option=comment=sample -cf out patterned.raw`, "pax headers"),
  raw(
    "tar/gnu-long-name.tar",
    ["tar"],
    `d=$(printf 'long%.0s' $(seq 40)) && mkdir $d && mv patterned.raw $d && ${TAR} --format=gnu -cf out $d`,
    "GNU long name",
  ),
  raw("tar/sparse-old-gnu.tar", ["tar"], `${TAR} --format=gnu -S -cf out patterned.raw`, "sparse, old GNU"),
  raw("tar/sparse-pax-0.0.tar", ["tar"], `${PAX} -S --sparse-version=0.0 -cf out patterned.raw`, "sparse, pax 0.0"),
  raw("tar/sparse-pax-0.1.tar", ["tar"], `${PAX} -S --sparse-version=0.1 -cf out patterned.raw`, "sparse, pax 0.1"),
  raw("tar/sparse-pax-1.0.tar", ["tar"], `${PAX} -S --sparse-version=1.0 -cf out patterned.raw`, "sparse, pax 1.0"),
  raw("zip/patterned.zip", ["zip"], "TZ=UTC zip -q -X -9 out.zip patterned.raw && mv out.zip out", "one member"),
  {
    name: "ova/sample.ova",
    format: "vmdk",
    wrappers: ["tar"],
    command:
      `${VMDK}=streamOptimized patterned.raw disk.vmdk && ` +
      'for f in sample.ovf disk.vmdk; do echo "SHA256($f)= $(sha256sum < $f | cut -c -64)"; done > sample.mf && ' +
      `${TAR} --format=ustar -cf out sample.ovf sample.mf disk.vmdk`,
    features: ["descriptor first, manifest with SHA-256, one disk"],
  },
];

const nested: readonly Variant[] = [
  {
    name: "xz/patterned.qcow2.xz",
    format: "qcow2",
    wrappers: ["xz"],
    command: `${QCOW2} patterned.raw disk && xz < disk > out`,
    features: ["a disk image in xz"],
  },
  {
    name: "gzip/patterned.tar.gz",
    format: "qcow2",
    wrappers: ["gzip", "tar"],
    command: `${QCOW2} patterned.raw disk.qcow2 && ${TAR} -cf - disk.qcow2 | gzip -9 -n > out`,
    features: ["a disk image in tar in gzip"],
  },
];

export const variants: readonly Variant[] = [
  ...rawDisks,
  ...qcow2Disks,
  ...otherDisks,
  ...compressed,
  ...archives,
  ...nested,
];

/** The format is the folder's name. */
function image(name: string, command: string, feature: string): Variant {
  return { name, format: formatOf(name), command, features: [feature] };
}

function refused(name: string, command: string, feature: string): Variant {
  return { ...image(name, command, feature), refused: "FORMAT_UNSUPPORTED" };
}

function raw(name: string, wrappers: readonly string[], command: string, feature: string): Variant {
  return { name, format: "raw", wrappers, command, features: [feature] };
}

function formatOf(name: string): Variant["format"] {
  const folder = name.slice(0, name.indexOf("/"));
  const formats = ["raw", "qcow2", "vmdk", "vpc", "vhdx", "vdi"] as const;
  const found = formats.find((format) => format === folder);
  if (found === undefined) throw new Error(`${name} is in no format's folder`);
  return found;
}
