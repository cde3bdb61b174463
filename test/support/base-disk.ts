/**
 * A deterministic disk to make images of: holes, random parts that do not compress, and a repetitive part that does.
 */

/** @param length at least 4 KiB; the same length and seed give the same bytes */
export function baseDisk(length = 8 * 1024 * 1024, seed = 7): Buffer {
  const disk = Buffer.alloc(length);
  const next = randomBytes(seed);
  const fill = (offset: number, count: number): void => {
    const end = Math.min(length, offset + count);
    for (let i = offset; i < end; i++) disk[i] = next();
  };
  fill(0, 512);
  fill(64 * 1024, Math.min(300_000, length >> 3));
  fill(Math.floor((length * 3) / 8), Math.min(700_001, length >> 3));
  fill(length - 4096, 4096);
  const text = Buffer.from("lorem ipsum dolor sit amet ".repeat(20_000));
  text.copy(disk, Math.floor((length * 5) / 8), 0, Math.min(text.length, length >> 3));
  return disk;
}

/** The bytes of a xorshift generator. */
export function randomBytes(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xff;
  };
}
