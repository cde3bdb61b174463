/**
 * The server that an image transfer leads to, on one of oVirt's hosts: what it can do, where the disk holds data, its bytes.
 * <https://ovirt.github.io/ovirt-imageio/images.html>
 *
 * It gives no validators; that the bytes stay the same is the engine's word, which locks the disk for the transfer. Nor does
 * it ask for credentials: the URL is one.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";
import { SourceError } from "../errors.ts";
import { parseContentRange } from "../http/content-range.ts";
import { readDocument } from "../http/document.ts";
import type { HttpClient } from "../http/http-client.ts";
import type { Place } from "../http/place.ts";
import { RangeReader } from "../http/range-reader.ts";
import { representationOf } from "../http/representation.ts";
import { ResumingStream } from "../http/resuming-stream.ts";
import { ExtentStream } from "./extent-stream.ts";
import { clipExtents, MAX_LIST_LENGTH, parseExtents } from "./extents.ts";
import type { DiskExtents } from "./extents.ts";

/** The bytes of a disk, opened. */
export interface ServedDisk {
  readonly size: number | undefined;
  readonly stream: ByteStream;
  /** Bytes that came over the network, where only data does. */
  fetched?(): number;
  /** A read for its own sake. */
  touch?(): Promise<void>;
  resumes(): number;
}

interface Abilities {
  readonly extents: boolean;
  /** Connections at once. */
  readonly readers: number;
}

const MAX_OPTIONS_LENGTH = 64 * 1024;

/** Answers of servers that know no OPTIONS. */
const NO_OPTIONS: readonly number[] = [204, 404, 405, 501];

const NO_ABILITIES: Abilities = { extents: false, readers: 1 };

const TOUCH_LENGTH = 512;

/** @throws SourceError; Interrupted once the client is closed */
export async function openServedDisk(client: HttpClient, place: Place): Promise<ServedDisk> {
  const abilities = await askAbilities(client, place);
  const extents = abilities.extents ? await askExtents(client, place) : undefined;
  const size = extents === undefined ? undefined : await askSize(client, place, extents.size);
  if (extents === undefined || size === undefined) return await openWhole(client, place);
  const reader = new RangeReader(client, { place: place.spec, representation: { ...UNVOUCHED, size } });
  const clipped = clipExtents(extents, size);
  const stream = new ExtentStream(reader, clipped, abilities.readers);
  return {
    size: clipped.size,
    stream,
    fetched: () => stream.fetched,
    touch: async () => {
      await reader.readRange(0, TOUCH_LENGTH);
    },
    resumes: () => reader.retries,
  };
}

const UNVOUCHED = representationOf({ get: () => null }, 0);

async function openWhole(client: HttpClient, place: Place): Promise<ServedDisk> {
  const stream = await ResumingStream.open(client, place);
  return { size: stream.representation.size, stream, resumes: () => stream.resumes };
}

async function askAbilities(client: HttpClient, place: Place): Promise<Abilities> {
  const request = { method: "OPTIONS", statuses: [200, ...NO_OPTIONS] } as const;
  const { status, bytes } = await readDocument(client, place, request, MAX_OPTIONS_LENGTH);
  if (status !== 200) return NO_ABILITIES;
  try {
    const options: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof options !== "object" || options === null) return NO_ABILITIES;
    const { features, max_readers: readers } = options as Readonly<Record<string, unknown>>;
    return {
      extents: Array.isArray(features) && features.includes("extents"),
      readers: typeof readers === "number" && readers >= 1 ? Math.floor(readers) : 1,
    };
  } catch {
    return NO_ABILITIES;
  }
}

/** Undefined: this disk has none, or too many. */
async function askExtents(client: HttpClient, place: Place): Promise<DiskExtents | undefined> {
  try {
    const list = await readDocument(client, place.below("extents"), { statuses: [200, 404] }, MAX_LIST_LENGTH);
    return list.status === 404 ? undefined : parseExtents(list.bytes, place.name);
  } catch (error) {
    if (error instanceof SourceError && error.context["maxLength"] === MAX_LIST_LENGTH) return undefined;
    throw error;
  }
}

/** What the ticket allows to read, which may be less than the host's volume has; undefined where there are no ranges. */
async function askSize(client: HttpClient, place: Place, listed: number): Promise<number | undefined> {
  if (listed === 0) return undefined;
  const answer = await client.get(place, { headers: { Range: "bytes=0-0" }, statuses: [200, 206] });
  answer.body.close();
  if (answer.status === 200) return undefined;
  return parseContentRange(answer.headers.get("content-range"))?.total ?? listed;
}
