/**
 * Bytes in memory that are read as if over the network: every answer comes later, those under way in an order of chance.
 */
import { SourceError } from "../../importer/errors.ts";
import { defaultHttpOptions } from "../../importer/http/http-options.ts";
import type { RandomAccess, ReadSpec } from "../../importer/random-access.ts";

export interface LateAccess extends RandomAccess {
  /** What was asked for so far. */
  readonly asked: readonly { readonly offset: number; readonly length: number }[];
  /** Reads under way, and the most that there were. */
  readonly inFlight: () => number;
  readonly mostInFlight: () => number;
}

/**
 * @param seed decides the order
 * @param fails whether the read of this number, from 0 on, fails
 */
export function lateAccess(
  bytes: Uint8Array,
  seed: number,
  fails: (read: { readonly number: number; readonly offset: number; readonly length: number }) => boolean = () => false,
): LateAccess {
  const waiting: (() => void)[] = [];
  const asked: { offset: number; length: number }[] = [];
  const random = randomNumbers(seed);
  let most = 0;
  const settleOne = (): void => {
    waiting.splice(Math.floor(random() * waiting.length), 1)[0]?.();
  };
  return {
    size: bytes.length,
    spec: remoteSpec(bytes.length),
    asked,
    inFlight: () => waiting.length,
    mostInFlight: () => most,
    readAt(into, offset) {
      const number = asked.length;
      const length = Math.max(0, Math.min(into.length, bytes.length - offset));
      asked.push({ offset, length });
      return new Promise<number>((resolve, reject) => {
        waiting.push(() => {
          if (fails({ number, offset, length })) {
            into.fill(0xa5, 0, length >> 1); // it broke off on the way
            reject(new SourceError("SOURCE_UNAVAILABLE", `read ${number} at ${offset} failed`));
            return;
          }
          into.set(bytes.subarray(offset, offset + length));
          resolve(length);
        });
        most = Math.max(most, waiting.length);
        setImmediate(settleOne);
      });
    },
    close: () => undefined,
  };
}

/** Of a file that nobody serves. */
function remoteSpec(size: number): ReadSpec {
  const representation = {
    size,
    validator: undefined,
    etag: undefined,
    lastModified: undefined,
    ranges: "bytes",
    contentType: undefined,
  } as const;
  const nowhere = "http://127.0.0.1:9/";
  const place = { first: nowhere, auth: undefined, current: nowhere, isTrusted: true };
  return { name: "late bytes", size, remote: { http: defaultHttpOptions, spec: { place, representation } } };
}

/** In [0, 1); the same for the same seed. (Park and Miller's generator.) */
export function randomNumbers(seed: number): () => number {
  let state = (seed % 2147483646) + 1;
  return () => {
    state = (state * 48271) % 2147483647;
    return (state - 1) / 2147483646;
  };
}
