/** Reads a PNG of 8 bits a channel, as browsers write them. @see PNG (Third Edition) 9 Filtering, 11 Chunks */
import { inflateSync } from "node:zlib";

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue of each pixel, and nothing else. */
  readonly pixels: Buffer;
}

const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 6: 4 };

export function readPng(png: Buffer): Picture {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const channels = CHANNELS[png[25] ?? 0];
  if (png[24] !== 8 || channels === undefined || png[28] !== 0)
    throw new Error("not the kind of PNG that is read here");
  const data: Buffer[] = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") data.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const rows = unfilter(inflateSync(Buffer.concat(data)), width * channels, height, channels);
  if (channels === 3) return { width, height, pixels: rows };
  const pixels = Buffer.alloc(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) rows.copy(pixels, pixel * 3, pixel * 4, pixel * 4 + 3);
  return { width, height, pixels };
}

function unfilter(filtered: Buffer, stride: number, height: number, step: number): Buffer {
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (stride + 1)] ?? 0;
    filtered.copy(rows, y * stride, y * (stride + 1) + 1, (y + 1) * (stride + 1));
    if (filter === 0) continue;
    for (let x = 0, at = y * stride; x < stride; x++, at++) {
      const left = x < step ? 0 : (rows[at - step] ?? 0);
      const up = y === 0 ? 0 : (rows[at - stride] ?? 0);
      const upLeft = x < step || y === 0 ? 0 : (rows[at - stride - step] ?? 0);
      rows[at] = (rows[at] ?? 0) + predicted(filter, left, up, upLeft);
    }
  }
  return rows;
}

function predicted(filter: number, left: number, up: number, upLeft: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const a = Math.abs(up - upLeft);
  const b = Math.abs(left - upLeft);
  const c = Math.abs(left + up - 2 * upLeft);
  if (a <= b && a <= c) return left;
  return b <= c ? up : upLeft;
}
