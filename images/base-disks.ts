/**
 * The disks that the sample images hold, the same bytes on every run.
 *
 * `patterned` is small and awkward: its size is no multiple of a cluster, and its data crosses borders of clusters, fills
 * clusters, cannot be compressed, or is the last sector. `two-partitions` is a disk as a guest would have it: a GUID
 * partition table, an EFI system partition (FAT16) and an ext4 file system, with files.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";

const KIB = 1024;
const MIB = 1024 * KIB;

// A multiple of a sector, of nothing larger.
const PATTERNED_SIZE = 4 * MIB + 3 * 512;
const TWO_PARTITIONS_SIZE = 64 * MIB;

const CREATED = 1_700_000_000; // seconds since 1970, stamped on everything in the file systems
const EFI = { start: 1 * MIB, size: 16 * MIB };
const ROOT = { start: 17 * MIB, size: 46 * MIB };
const PARTITION_TABLE = `label: gpt
label-id: 64656361-6E74-4000-8000-000000000000
start=${EFI.start / 512}, size=${EFI.size / 512}, type=U, uuid=64656361-6E74-4000-8000-000000000001, name=esp
start=${ROOT.start / 512}, size=${ROOT.size / 512}, type=L, uuid=64656361-6E74-4000-8000-000000000002, name=root
`;

/** What a person finds on the second partition. */
const FILES: Readonly<Record<string, string>> = {
  "README.txt": "This disk was poured by decant.\n",
  "etc/hostname": "decanted\n",
  "etc/fstab": "LABEL=root / ext4 defaults 0 1\nLABEL=ESP /boot/efi vfat umask=0077 0 2\n",
  "srv/numbers.txt": Array.from({ length: 4000 }, (_, i) => `${i} squared is ${i * i}\n`).join(""),
};

/** The patterned disk, in memory. */
export function patternedDisk(): Buffer {
  const disk = Buffer.alloc(PATTERNED_SIZE);
  const text = "A decanted wine is poured off its sediment. ";
  disk.fill(text, 0, 512);
  disk.fill("crosses the border of a cluster ", 64 * KIB - 1000, 64 * KIB + 1000);
  noise(disk.subarray(512 * KIB, 512 * KIB + 3000));
  disk.fill(text, MIB, MIB + 192 * KIB);
  disk.fill(0x01, 2 * MIB + 64 * KIB, 2 * MIB + 65 * KIB);
  disk.fill("one sector ", 3 * MIB + 4 * KIB, 3 * MIB + 4 * KIB + 512);
  disk.fill("the last sector ", PATTERNED_SIZE - 512);
  return disk;
}

/** Fills `into` with bytes that do not compress: xorshift32 from a fixed seed. */
function noise(into: Buffer): void {
  let state = 0x2545f491;
  for (let i = 0; i < into.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    into[i] = state & 0xff;
  }
}

/** Writes the disk with two partitions to `file`, using `folder` for its parts. */
export function makeTwoPartitions(file: string, folder: string): void {
  const disk = Buffer.alloc(TWO_PARTITIONS_SIZE);
  writeFileSync(file, disk);
  execFileSync("sfdisk", ["-q", file], { input: PARTITION_TABLE });
  readFileSync(file).copy(disk);
  fatPartition(folder).copy(disk, EFI.start);
  ext4Partition(folder).copy(disk, ROOT.start);
  writeFileSync(file, disk);
}

function fatPartition(folder: string): Buffer {
  const part = emptyFile(path.join(folder, "esp"), EFI.size);
  const startup = path.join(folder, "startup.nsh");
  writeFileSync(startup, "echo poured by decant\r\n");
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(CREATED), TZ: "UTC" };
  execFileSync("mkfs.vfat", ["--invariant", "-F", "16", "-n", "ESP", part], { env, stdio: "ignore" });
  execFileSync("mmd", ["-i", part, "::EFI", "::EFI/BOOT"], { env });
  execFileSync("mcopy", ["-i", part, startup, "::EFI/BOOT/startup.nsh"], { env });
  return readFileSync(part);
}

function ext4Partition(folder: string): Buffer {
  const part = emptyFile(path.join(folder, "root"), ROOT.size);
  const tree = path.join(folder, "tree");
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(path.dirname(path.join(tree, name)), { recursive: true });
    writeFileSync(path.join(tree, name), content);
  }
  const names = ["", "etc", "srv", ...Object.keys(FILES)];
  for (const name of names) utimesSync(path.join(tree, name), CREATED, CREATED);
  const env = { ...process.env, E2FSPROGS_FAKE_TIME: String(CREATED), MKE2FS_CONFIG: "/dev/null" };
  const uuid = "64656361-6e74-4000-8000-000000000003";
  const options = ["-q", "-F", "-t", "ext4", "-L", "root", "-U", uuid, "-E", `hash_seed=${uuid},root_owner=0:0`];
  execFileSync("mke2fs", [...options, "-O", "extent,metadata_csum,64bit", "-I", "256", "-d", tree, part], {
    env,
    stdio: "pipe",
  });
  // mke2fs copies the times and the owner of the tree's files, and nothing but debugfs can set the time of change.
  const fields = ["ctime", "atime", "mtime", "crtime"].map((field) => `${field} @${CREATED}`);
  const nanoseconds = ["ctime_extra 0", "atime_extra 0", "mtime_extra 0", "uid 0", "gid 0"];
  const commands = names.flatMap((name) => [...fields, ...nanoseconds].map((field) => `sif /${name} ${field}`));
  execFileSync("debugfs", ["-w", "-f", "-", part], {
    env,
    input: commands.join("\n"),
    stdio: ["pipe", "ignore", "ignore"],
  });
  return readFileSync(part);
}

function emptyFile(file: string, size: number): string {
  writeFileSync(file, "");
  truncateSync(file, size);
  return file;
}
