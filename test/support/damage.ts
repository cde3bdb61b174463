/**
 * Makes hostile inputs from samples, each from nothing but a seed: damaged, cut, spliced, and wrapped again, so that what is
 * behind a codec or an archive is hostile too.
 */
import zlib from "node:zlib";
import { KIB } from "../../formats/bytes.ts";
import { buildTar } from "./build-tar.ts";

export interface Damaged {
  /** What was done, for a person. */
  readonly what: string;
  readonly bytes: Buffer;
}

/** Where most damage goes: headers and first tables, and as much at the end for footers. */
const HEAD = 8 * KIB;
const EDGE = 1 * KIB;

/** Words that sizes, counts and offsets break at. */
const WORDS = [0, 1, 2, 0x1ff, 0x200, 0xffff, 0x1_0000, 0x10_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_fe00, 0xffff_ffff];

/** A generator of whole numbers in [0, below). */
export type Dice = (below: number) => number;

/** Mulberry32: every seed gives its own sequence. */
export function dice(seed: number): Dice {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * below);
  };
}

/** @param samples at least one; by name */
export function damaged(samples: readonly (readonly [name: string, bytes: Uint8Array])[], roll: Dice): Damaged {
  const [name, original] = samples[roll(samples.length)] ?? ["nothing", new Uint8Array(0)];
  const steps: string[] = [name];
  let bytes: Buffer = Buffer.from(original);
  const kind = roll(20);
  if (kind === 0) {
    bytes = randomWithMagic(original, roll);
    steps.push("random bytes behind its magic");
  } else if (kind === 1) {
    const [other, donor] = samples[roll(samples.length)] ?? [name, original];
    const at = roll(Math.min(bytes.length, donor.length) + 1);
    bytes = Buffer.concat([bytes.subarray(0, at), donor.subarray(at)]);
    steps.push(`continued at ${at} as ${other}`);
  } else {
    for (let changes = 1 + roll(6); changes > 0; changes--) change(bytes, roll);
    steps.push("changed");
  }
  if (roll(8) === 0) {
    bytes = bytes.subarray(0, roll(bytes.length + 1));
    steps.push(`cut to ${bytes.length}`);
  }
  for (let wraps = roll(4) === 0 ? 1 + roll(3) : 0; wraps > 0; wraps--) {
    const [how, wrapped] = wrap(bytes, roll);
    bytes = wrapped;
    steps.push(how);
    if (roll(3) !== 0) continue;
    change(bytes, roll);
    steps.push("changed again");
  }
  return { what: steps.join(", "), bytes };
}

/** Changes a byte, a word or a run, mostly in the first kilobytes. */
function change(bytes: Buffer, roll: Dice): void {
  if (bytes.length < 16) return;
  const place = roll(10);
  const end = Math.min(bytes.length - 8, place < 4 ? EDGE : place < 8 ? HEAD : bytes.length);
  const fromEnd = place === 3;
  const at = fromEnd ? bytes.length - 8 - roll(Math.min(EDGE, bytes.length - 8)) : roll(Math.max(1, end));
  const word = WORDS[roll(WORDS.length)] ?? 0;
  switch (roll(7)) {
    case 0:
      bytes[at] = roll(256);
      break;
    case 1:
      bytes[at] = (bytes[at] ?? 0) ^ (1 << roll(8));
      break;
    case 2:
      bytes.writeUInt32BE(word, at - (at % 4));
      break;
    case 3:
      bytes.writeUInt32LE(word, at - (at % 4));
      break;
    case 4:
      bytes.writeUInt16LE(word & 0xffff, at - (at % 2));
      break;
    case 5:
      bytes.copyWithin(at, roll(bytes.length), Math.min(bytes.length, at + 1 + roll(512)));
      break;
    default:
      bytes.fill(roll(2) === 0 ? 0 : 0xff, at, Math.min(bytes.length, at + 1 + roll(64)));
  }
}

function randomWithMagic(original: Uint8Array, roll: Dice): Buffer {
  const bytes = Buffer.alloc(roll(64 * KIB));
  for (let i = 0; i < bytes.length; i++) bytes[i] = roll(256);
  bytes.set(original.subarray(0, Math.min(bytes.length, 4 + roll(64))));
  return bytes;
}

function wrap(bytes: Buffer, roll: Dice): [how: string, wrapped: Buffer] {
  switch (roll(4)) {
    case 0:
      return ["in gzip", zlib.gzipSync(bytes, { level: 1 })];
    case 1:
      return ["in zstd", zlib.zstdCompressSync(bytes)];
    case 2:
      return ["in tar", Buffer.from(buildTar([{ name: "disk.img", content: bytes }]))];
    default:
      return [
        "in tar, with a text beside it",
        Buffer.from(
          buildTar([
            { name: "README", content: Buffer.from("read me") },
            { name: "a/disk", content: bytes },
          ]),
        ),
      ];
  }
}
