/**
 * Whether two paths lead to the same storage, so that writing one would change the other.
 *
 * A loop device is the file behind it. A partition lies on its disk and a mapped device on its slaves: writing the disk
 * writes the partition and the other way round, but two partitions of one disk are two things. What sysfs does not tell is
 * taken for different.
 */
import fs from "node:fs";
import path from "node:path";
import { deviceFolder, deviceNumber } from "../kernel.ts";

/** Devices on devices on devices: no set-up is deeper. */
const MAX_DEPTH = 16;

/** False also where one of them does not exist. Links are followed. */
export function isSameStorage(sourcePath: string, targetPath: string): boolean {
  const source = storageOf(statOrNothing(sourcePath));
  const target = storageOf(statOrNothing(targetPath));
  if (source === undefined || target === undefined) return false;
  return target.liesOn.has(source.identity) || source.liesOn.has(target.identity);
}

interface Storage {
  readonly identity: string;
  /** Identities of what it consists of, itself included. */
  readonly liesOn: ReadonlySet<string>;
}

function storageOf(stat: fs.Stats | undefined): Storage | undefined {
  if (stat === undefined) return undefined;
  const liesOn = new Set<string>();
  if (stat.isBlockDevice()) {
    const identity = addDevice(deviceFolder(stat.rdev), deviceNumber(stat.rdev), liesOn, 0);
    return { identity, liesOn };
  }
  const identity = fileIdentity(stat);
  liesOn.add(identity);
  return { identity, liesOn };
}

function fileIdentity(stat: fs.Stats): string {
  return `file ${stat.dev} ${stat.ino}`;
}

/** Adds a device and all below it. Returns its identity: that of the file behind it, for a loop device. */
function addDevice(folder: string, number: string, into: Set<string>, depth: number): string {
  const backing = depth > MAX_DEPTH ? undefined : backingFile(folder);
  if (backing?.isBlockDevice() === true) {
    return addDevice(deviceFolder(backing.rdev), deviceNumber(backing.rdev), into, depth + 1);
  }
  const identity = backing === undefined ? `device ${number}` : fileIdentity(backing);
  into.add(identity);
  if (depth > MAX_DEPTH) return identity;
  for (const below of devicesBelow(folder)) {
    const belowNumber = readOrNothing(`${below}/dev`);
    if (belowNumber !== undefined) addDevice(below, belowNumber, into, depth + 1);
  }
  return identity;
}

function backingFile(folder: string): fs.Stats | undefined {
  const name = readOrNothing(`${folder}/loop/backing_file`);
  return name === undefined ? undefined : statOrNothing(name);
}

function devicesBelow(folder: string): string[] {
  if (fs.existsSync(`${folder}/partition`)) return [path.dirname(fs.realpathSync(folder))];
  try {
    return fs.readdirSync(`${folder}/slaves`).map((slave) => fs.realpathSync(`${folder}/slaves/${slave}`));
  } catch {
    return [];
  }
}

function readOrNothing(file: string): string | undefined {
  try {
    return fs.readFileSync(file, "utf8").replace(/\n$/, "");
  } catch {
    return undefined;
  }
}

function statOrNothing(name: string): fs.Stats | undefined {
  try {
    return fs.statSync(name);
  } catch {
    return undefined;
  }
}
