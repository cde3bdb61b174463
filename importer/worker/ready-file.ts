/**
 * Node pull: a container beside the worker serves the image from this pod's loopback interface. It says that it is ready by
 * a file, whose content is the name of the disk's file, and waits for a file that says that the worker is done.
 *
 * The image's container is somebody else's program. The name is taken as bytes and each that means something in a URL is
 * escaped, so a disk called `50%?.img` is asked for by its name, and no name leads anywhere else.
 */
import fs from "node:fs";
import { errnoName, Interrupted, SourceError, toTargetError } from "../errors.ts";
import type { TargetError } from "../errors.ts";
import type { Pace } from "../http/pace.ts";

const POLL_MS = 1000;
const MAX_POLLS = 60;

/** Bytes of a file's name on Linux. */
const MAX_NAME_LENGTH = 255;

/** What the endpoint ends with, in place of the name that is not known yet. */
const PLACEHOLDER = "disk.img";

/**
 * Waits for the file, a minute at the most.
 * @returns its content as it is: the name of the disk's file
 * @throws SourceError SOURCE_UNAVAILABLE, whose message is the whole of the termination message; Interrupted
 */
export async function waitForReadyFile(path: string, pace: Pick<Pace, "delay">, signal: AbortSignal): Promise<Buffer> {
  for (let poll = 1; ; poll++) {
    const name = readName(path);
    if (name !== undefined) return name;
    // A restart may find the other container further on.
    if (poll === MAX_POLLS) throw new SourceError("SOURCE_UNAVAILABLE", `Timeout waiting for file ${path}`);
    try {
      await pace.delay(POLL_MS, signal);
    } catch (error) {
      if (signal.aborted) throw new Interrupted();
      throw error;
    }
  }
}

/** The endpoint with the disk's real name, in the place of `disk.img` at its end. */
export function endpointOfDisk(endpoint: string, name: Uint8Array): string {
  const folder = endpoint.endsWith(PLACEHOLDER) ? endpoint.slice(0, -PLACEHOLDER.length) : endpoint;
  return folder + escapeName(name);
}

/**
 * Says that the image is no longer needed.
 * @returns why it could not be said, for the log: the import has succeeded or failed without it
 */
export function makeDoneFile(path: string): TargetError | undefined {
  try {
    fs.closeSync(fs.openSync(path, "wx", 0o644));
    return undefined;
  } catch (error) {
    return toTargetError(error, "make", path);
  }
}

/** Undefined: it is not there, or was made and not written yet. */
function readName(path: string): Buffer | undefined {
  const bytes = readStart(path);
  if (bytes === undefined || bytes.length === 0) return undefined;
  if (bytes.length <= MAX_NAME_LENGTH) return bytes;
  throw new SourceError("SOURCE_UNAVAILABLE", `the file ${path} holds more than the name of a file`);
}

/** No link is followed, and no pipe waited for: the folder is shared with the image's container. */
function readStart(path: string): Buffer | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  let fd: number;
  try {
    fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (errnoName(error) === "ENOENT") return undefined;
    throw new SourceError("SOURCE_UNAVAILABLE", `cannot read the file ${path}`, { cause: error });
  }
  try {
    if (!fs.fstatSync(fd).isFile()) throw new SourceError("SOURCE_UNAVAILABLE", `${path} is no file`);
    const bytes = Buffer.alloc(MAX_NAME_LENGTH + 1);
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, 0));
  } finally {
    fs.closeSync(fd);
  }
}

/** RFC 3986 unreserved characters stay. `.` and `..` are no names of files, and would be paths. */
function escapeName(name: Uint8Array): string {
  if (isDots(name)) throw new SourceError("SOURCE_UNAVAILABLE", "the disk's file has the name of a folder");
  return Array.from(name, (byte) => {
    const character = String.fromCharCode(byte);
    return /[A-Za-z0-9._~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

function isDots(name: Uint8Array): boolean {
  return name.length <= 2 && name.every((byte) => byte === 0x2e);
}
