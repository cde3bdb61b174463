/**
 * Who uses a block device, for a sentence that helps: mounts of it or of its partitions, and devices built on it.
 *
 * The kernel has the last word (an exclusive open); this names what it found.
 */
import fs from "node:fs";
import { deviceFolder, deviceNumber } from "../kernel.ts";

/**
 * A phrase such as `mounted at /data`; undefined if nothing is known to use it.
 * @param rdev as fs.Stats has it
 */
export function deviceUse(rdev: number): string | undefined {
  const folder = deviceFolder(rdev);
  const numbers = [deviceNumber(rdev), ...partitionsOf(folder)];
  const mounted = mountPointOf(numbers);
  if (mounted !== undefined) return `mounted at ${mounted}`;
  const holder = listOrNothing(`${folder}/holders`)[0];
  return holder === undefined ? undefined : `part of ${holder}`;
}

function partitionsOf(folder: string): string[] {
  return listOrNothing(folder)
    .filter((name) => fs.existsSync(`${folder}/${name}/partition`))
    .map((name) => fs.readFileSync(`${folder}/${name}/dev`, "latin1").trim());
}

/** From /proc/self/mountinfo (proc(5)): field 3 is the device, field 5 the mount point. */
function mountPointOf(numbers: readonly string[]): string | undefined {
  for (const line of readOrEmpty("/proc/self/mountinfo").split("\n")) {
    const fields = line.split(" ");
    if (fields[2] !== undefined && numbers.includes(fields[2])) return unescaped(fields[4] ?? "");
  }
  return undefined;
}

/** Blanks and backslashes are written as `\040`. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

function listOrNothing(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

function readOrEmpty(file: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return ""; // no /proc in here
  }
}
