/**
 * How each file of the corpus is made, and which disk it holds. A recipe is a line for `sh`: $FROM is the file that it is made
 * of, $OUT the new one.
 */

export interface Recipe {
  /** A disk, or another file that is made by a recipe; undefined: nothing. */
  readonly from: string | undefined;
  readonly line: string;
  /** The disk that it decodes to, EMPTY for one without content; undefined: a disk that is not kept. */
  readonly disk: string | undefined;
}

/** Instead of a disk's name: there is none on it. */
export const EMPTY = "";

/** The filesystem, one half full, one full. */
export const DISKS = ["disk.raw", "half.raw", "full.raw"] as const;

/** Two threads with several blocks each have something to do. */
const XZ_BLOCK = { full: "16MiB", quick: "2MiB" } as const;

/** In so many places of 1 TiB the content of the filesystem's disk lies. */
const SPREAD_PARTS = 100;

const convert = (format: string, options = ""): string =>
  `qemu-img convert -f raw -O ${format}${options} "$FROM" "$OUT"`;
const empty = (size: string): Recipe => ({
  from: undefined,
  line: `qemu-img create -q -f qcow2 "$OUT" ${size}`,
  disk: EMPTY,
});

/** Blocks as large as qcow2's clusters, so that the disk has no more of them than it had. */
const SPREAD = `
blocks=$(($(stat -c %s "$FROM") / 65536)); part=$((blocks / ${SPREAD_PARTS} + 1)); step=$(((1 << 24) / ${SPREAD_PARTS}))
trap 'rm -f "$OUT.spread"' EXIT
truncate -s 1T "$OUT.spread"
for at in $(seq 0 ${SPREAD_PARTS - 1}); do
  dd if="$FROM" of="$OUT.spread" bs=64K count=$part skip=$((at * part)) seek=$((at * step)) conv=sparse,notrunc status=none
done
qemu-img convert -f raw -O qcow2 "$OUT.spread" "$OUT"`.trim();

/** @param size the recipes differ in blocks only */
export function recipesFor(size: "full" | "quick"): Readonly<Record<string, Recipe>> {
  const of = (disk: string, line: string, from = disk): Recipe => ({ from, line, disk });
  const zlib = " -c";
  const zstd = " -c -o compression_type=zstd";
  return {
    "plain.qcow2": of("disk.raw", convert("qcow2")),
    "plain-2m.qcow2": of("disk.raw", convert("qcow2", " -o cluster_size=2M")),
    "zlib.qcow2": of("disk.raw", convert("qcow2", zlib)),
    "zlib-2m.qcow2": of("disk.raw", convert("qcow2", `${zlib} -o cluster_size=2M`)),
    "zstd.qcow2": of("disk.raw", convert("qcow2", zstd)),
    "zstd-2m.qcow2": of("disk.raw", convert("qcow2", `${zstd},cluster_size=2M`)),
    "stream-optimized.vmdk": of("disk.raw", convert("vmdk", " -o subformat=streamOptimized")),
    "sparse.vmdk": of("disk.raw", convert("vmdk", " -o subformat=monolithicSparse")),
    "dynamic.vhdx": of("disk.raw", convert("vhdx")),
    "dynamic.vhd": of("disk.raw", convert("vpc", " -o force_size=on")),
    "dynamic.vdi": of("disk.raw", convert("vdi")),
    "raw.gz": of("disk.raw", `gzip -6 -c "$FROM" > "$OUT"`),
    "raw.zst": of("disk.raw", `zstd -q -3 -c "$FROM" > "$OUT"`),
    "qcow2.xz": of("disk.raw", `xz -2 -c "$FROM" > "$OUT"`, "plain.qcow2"),
    "blocks.qcow2.xz": of("disk.raw", `xz -2 -T0 --block-size=${XZ_BLOCK[size]} -c "$FROM" > "$OUT"`, "plain.qcow2"),
    "half.qcow2": of("half.raw", convert("qcow2")),
    "half-zlib.qcow2": of("half.raw", convert("qcow2", zlib)),
    "full.qcow2": of("full.raw", convert("qcow2")),
    "full-zlib.qcow2": of("full.raw", convert("qcow2", zlib)),
    "empty.qcow2": empty("10G"),
    "empty-15t.qcow2": empty("15T"),
    "spread-1t.qcow2": { from: "disk.raw", line: SPREAD, disk: undefined },
  };
}
