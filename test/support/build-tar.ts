/**
 * Builds tar archives in memory, field by field, so that a test can set a wrong one.
 *
 * Layouts are those of POSIX.1 "ustar" and of the GNU tar manual; nothing here comes from the parser.
 */

const BLOCK = 512;

export interface TarEntry {
  readonly name: string;
  /** One character; "0" unless given. */
  readonly type?: string;
  readonly content?: Uint8Array;
  /** What the size field says, where it is not the content's length. */
  readonly size?: number;
  /** `ustar` unless given. */
  readonly magic?: "ustar" | "gnu" | "v7";
  readonly prefix?: string;
  /** Where a link leads. */
  readonly link?: string;
  /** Changes the header block before its checksum is made. */
  readonly patch?: (block: Uint8Array) => void;
  /** Sums signed bytes, as old tars did. */
  readonly signedChecksum?: boolean;
}

/** The entries and, unless `end` is false, two blocks of zeros. */
export function buildTar(entries: readonly TarEntry[], end = true): Uint8Array {
  const parts = entries.flatMap((entry) => [tarHeader(entry), padded(entry.content ?? new Uint8Array(0))]);
  if (end) parts.push(new Uint8Array(2 * BLOCK));
  return Buffer.concat(parts);
}

/** One header block. */
export function tarHeader(entry: TarEntry): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  const size = entry.size ?? entry.content?.length ?? 0;
  block.write(entry.name, 0, 100, "utf8");
  block.write("0000644\0" + "0000000\0" + "0000000\0", 100, "latin1");
  block.set(size < 8 ** 11 ? octal(size, 12) : base256(size, 12), 124);
  block.write("00000000000\0", 136, "latin1");
  block.write(entry.type ?? "0", 156, "latin1");
  if (entry.link !== undefined) block.write(entry.link, 157, 100, "utf8");
  if (entry.magic === "gnu") block.write("ustar  \0", 257, "latin1");
  else if (entry.magic !== "v7") block.write("ustar\0" + "00", 257, "latin1");
  if (entry.prefix !== undefined) block.write(entry.prefix, 345, 155, "utf8");
  entry.patch?.(block);
  setChecksum(block, entry.signedChecksum);
  return block;
}

export function setChecksum(block: Uint8Array, signed = false): void {
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + (signed && byte >= 0x80 ? byte - 256 : byte), 0);
  block.set(Buffer.from(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
}

/** An octal field with a NUL at its end. */
export function octal(value: number, length: number): Uint8Array {
  return Buffer.from(value.toString(8).padStart(length - 1, "0") + "\0", "latin1");
}

/** GNU's binary number: the top bit set, then big-endian. */
export function base256(value: number, length: number): Uint8Array {
  const bytes = Buffer.alloc(length);
  bytes.writeBigUInt64BE(BigInt(value), length - 8);
  bytes[0] = 0x80;
  return bytes;
}

/** A pax extended header as an entry; `g` for all that follow, else for the next one. */
export function paxEntry(records: readonly (readonly [string, string])[], type: "x" | "g" = "x"): TarEntry {
  return {
    name: "PaxHeaders/x",
    type,
    content: Buffer.from(records.map(([key, value]) => paxRecord(key, value)).join("")),
  };
}

/** `LENGTH KEY=VALUE\n`, where LENGTH counts itself. */
export function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return `${length} ${key}=${value}\n`;
}

/** A GNU long name, for the entry that follows. */
export function longName(name: string): TarEntry {
  return { name: "././@LongLink", type: "L", magic: "gnu", content: Buffer.from(`${name}\0`) };
}

/** A range of a sparse member. */
export type Range = readonly [offset: number, length: number];

/** An old GNU sparse member of `content`, storing `ranges`: four entries in the header, 21 in each extension block. */
export function oldGnuSparse(name: string, content: Uint8Array, ranges: readonly Range[]): Uint8Array {
  const stored = storedRanges(content, ranges);
  const extensions: Uint8Array[] = [];
  for (let at = 4; at < ranges.length; at += 21) {
    const block = Buffer.alloc(BLOCK);
    ranges.slice(at, at + 21).forEach((range, index) => block.set(rangeField(range), index * 24));
    if (at + 21 < ranges.length) block[504] = 1;
    extensions.push(block);
  }
  const header = tarHeader({
    name,
    type: "S",
    magic: "gnu",
    size: ranges.reduce((total, [, length]) => total + length, 0),
    patch(block) {
      ranges.slice(0, 4).forEach((range, index) => block.set(rangeField(range), 386 + index * 24));
      block[482] = extensions.length > 0 ? 1 : 0;
      block.set(octal(content.length, 12), 483);
    },
  });
  return Buffer.concat([header, ...extensions, stored]);
}

/** The ranges' bytes as GNU tar stores them: each from the start of a block. */
export function storedRanges(content: Uint8Array, ranges: readonly Range[]): Uint8Array {
  const stored = ranges.filter(([, length]) => length > 0);
  return Buffer.concat(stored.map(([offset, length]) => padded(content.subarray(offset, offset + length))));
}

function padded(bytes: Uint8Array): Uint8Array {
  const whole = new Uint8Array(Math.ceil(bytes.length / BLOCK) * BLOCK);
  whole.set(bytes);
  return whole;
}

function rangeField([offset, length]: Range): Uint8Array {
  return Buffer.concat([octal(offset, 12), octal(length, 12)]);
}
