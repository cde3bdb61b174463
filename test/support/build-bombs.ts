/**
 * Builds images that are small, consistent, and name a great deal of disk.
 */
import zlib from "node:zlib";

const CLUSTER = 64 * 1024;
const ENTRIES = CLUSTER / 8;

/**
 * A qcow2 in which every L1 entry names the same L2 table, and every entry of that the same cluster.
 * @param l1Entries each maps 512 MiB of the disk
 */
export function buildTableBomb(l1Entries: number, cluster: "data" | "zero" | "compressed"): Buffer {
  const l1Clusters = Math.ceil((l1Entries * 8) / CLUSTER);
  const tableAt = (1 + l1Clusters) * CLUSTER;
  const contentAt = tableAt + CLUSTER;
  const file = Buffer.alloc(contentAt + CLUSTER);
  file.write("QFI\xfb", 0, "latin1");
  file.writeUInt32BE(3, 4);
  file.writeUInt32BE(16, 20);
  file.writeBigUInt64BE(BigInt(l1Entries) * BigInt(ENTRIES * CLUSTER), 24);
  file.writeUInt32BE(l1Entries, 36);
  file.writeBigUInt64BE(BigInt(CLUSTER), 40);
  file.writeUInt32BE(4, 96); // refcount order
  file.writeUInt32BE(112, 100); // header length
  const copied = 1n << 63n;
  for (let i = 0; i < l1Entries; i++) file.writeBigUInt64BE(copied | BigInt(tableAt), CLUSTER + i * 8);
  const entry = { data: copied | BigInt(contentAt), zero: 1n, compressed: (1n << 62n) | BigInt(contentAt) }[cluster];
  for (let i = 0; i < ENTRIES; i++) file.writeBigUInt64BE(entry, tableAt + i * 8);
  file.fill("bomb", contentAt);
  if (cluster === "compressed") file.set(zlib.deflateRawSync(Buffer.alloc(CLUSTER, 9)), contentAt);
  return file;
}
