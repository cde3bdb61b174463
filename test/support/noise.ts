/**
 * Bytes without end that have no pattern and no zeros, and are the same at the same offset each time: a disk full of data,
 * of any size, that takes no space.
 */
import { createCipheriv } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";

const BLOCK = 16;
const PIECE = 1024 * 1024;

/** Noise of [offset, offset + length). */
export function noise(offset: number, length: number): Buffer {
  const counter = Buffer.alloc(BLOCK);
  counter.writeBigUInt64BE(BigInt(Math.floor(offset / BLOCK)), 8);
  const skip = offset % BLOCK;
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(BLOCK, 7), counter);
  return cipher.update(Buffer.alloc(skip + length)).subarray(skip);
}

/** Runs `use` with the URL of `size` bytes of noise: ranges, If-Range and a strong ETag. */
export async function withNoiseServer<T>(size: number, use: (url: string) => Promise<T>): Promise<T> {
  const server = http.createServer((request, response) => {
    void answer(size, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/noise.raw`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

async function answer(size: number, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  const start = Number(range?.[1] ?? 0);
  const end = range?.[2] ? Number(range[2]) + 1 : size;
  response.writeHead(range === null ? 200 : 206, {
    "content-length": end - start,
    etag: '"noise"',
    ...(range === null ? {} : { "content-range": `bytes ${start}-${end - 1}/${size}` }),
  });
  for (let at = start; at < end; at += PIECE) {
    const piece = noise(at, Math.min(PIECE, end - at));
    await new Promise<void>((resolve, reject) => {
      response.write(piece, (error) => (error == null ? resolve() : reject(error)));
    });
  }
  response.end();
}
