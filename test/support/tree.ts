/**
 * What is in a folder, in a form that two folders can be compared by.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";

/** A line for each entry, the folder itself first: kind, mode, time in tenths of a microsecond, links and content. */
export function treeOf(folder: string): string[] {
  const numbers = new Map<number, number>();
  const describe = (name: Buffer): string[] => {
    const place = Buffer.concat([Buffer.from(`${folder}/`), name]);
    const stat = fs.lstatSync(place);
    const kind = (stat.mode & 0o170000).toString(8);
    const line = [name.toString("latin1"), kind, (stat.mode & 0o7777).toString(8), (stat.mtimeMs / 1000).toFixed(4)];
    if (stat.isSymbolicLink()) line.push(fs.readlinkSync(place, "latin1"));
    if (stat.isFile()) {
      line.push(String(stat.size), createHash("sha256").update(fs.readFileSync(place)).digest("hex").slice(0, 16));
      // Names of one file share a number, by their order.
      numbers.set(stat.ino, numbers.get(stat.ino) ?? numbers.size);
      if (stat.nlink > 1) line.push(`links ${stat.nlink} of ${numbers.get(stat.ino)}`);
    }
    if (!stat.isDirectory()) return [line.join(" ")];
    const inside = fs.readdirSync(place, { encoding: "buffer" }).sort((one, other) => one.compare(other));
    return [line.join(" "), ...inside.flatMap((child) => describe(joined(name, child)))];
  };
  return describe(Buffer.from("."));
}

function joined(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from("/"), name]);
}
