/**
 * What a source says of itself, and what it gives.
 */
import { createHash } from "node:crypto";
import type { Source } from "../../importer/sources/source.ts";

export interface SourceFacts {
  readonly name: string;
  readonly path: string | null;
  readonly size: number | null;
  /** Of the stream: SHA-256 and length. */
  readonly streamed: string;
  readonly length: number;
  /** What a read after the end answered. */
  readonly afterEnd: number;
  /** SHA-256 of what random access gives, read from the end to the start; null: there is none. */
  readonly atRandom: string | null;
}

/** Reads all of `source`, twice if it can be, and closes it. */
export async function sourceFacts(source: Source): Promise<SourceFacts> {
  const hash = createHash("sha256");
  const stream = source.stream();
  const into = new Uint8Array(10_007);
  let length = 0;
  for (;;) {
    const count = await stream.read(into);
    if (count === 0) break;
    hash.update(into.subarray(0, count));
    length += count;
  }
  const afterEnd = await stream.read(into);
  const atRandom = source.file === undefined ? null : await hashAtRandom(source.file);
  await stream.close();
  source.close();
  const { name, path, size } = source;
  return { name, path: path ?? null, size: size ?? null, streamed: hash.digest("hex"), length, afterEnd, atRandom };
}

async function hashAtRandom(file: NonNullable<Source["file"]>): Promise<string> {
  const bytes = new Uint8Array(file.size);
  for (let end = file.size; end > 0; end -= 4099) {
    const start = Math.max(0, end - 4099);
    await file.readAt(bytes.subarray(start, end), start);
  }
  return createHash("sha256").update(bytes).digest("hex");
}
