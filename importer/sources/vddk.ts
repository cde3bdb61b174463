/**
 * A disk of VMware, by way of an nbdkit that somebody else has started: its vddk plugin loads VMware's own library, which does
 * not come with decant. The disk is read over NBD from the Unix socket where that nbdkit serves it. Without one the error says
 * what to bring.
 */
import { UsageError } from "../errors.ts";
import { plainText } from "../http/redact.ts";
import { NbdClient } from "../nbd/nbd-client.ts";
import { NbdStream } from "../nbd/nbd-stream.ts";
import { missingForVddk, VDDK_LIBRARY } from "../vddk/requirements.ts";
import type { Source } from "./source.ts";

export interface VddkOptions {
  /** Of the disk's machine. */
  readonly uuid: string;
  /** Path of the disk, `[datastore] folder/disk.vmdk`. */
  readonly backingFile: string;
  readonly checkpoint: { readonly current: string | undefined; readonly previous: string | undefined };
  /** Where an nbdkit serves this disk; undefined: nowhere. */
  readonly socket: string | undefined;
  /** How long no byte may come while some are waited for. */
  readonly stallMs: number;
  /** Ends the opening only. */
  readonly signal: AbortSignal;
  /** The machine's, as Node.js calls it. */
  readonly arch: string;
  /** Where programs are looked for. */
  readonly searchPath: string | undefined;
  readonly library?: string;
}

const REMEDY =
  "Have nbdkit serve the disk read-only on a Unix socket, with its vddk plugin and VMware's library (nbdkit --readonly --unix " +
  "SOCKET --filter=retry --filter=cacheextents vddk libdir=… server=… user=… password=+FILE thumbprint=… vm=moref=… file=…), " +
  "and name the socket in DECANT_NBDKIT_SOCKET.";

/** @throws UsageError with what is missing; SourceError as the NBD server goes; Interrupted */
export async function openVddk(options: VddkOptions): Promise<Source> {
  const { uuid, backingFile, checkpoint, socket, stallMs, signal } = options;
  if (checkpoint.previous !== undefined && checkpoint.current === undefined) {
    throw new UsageError("previous checkpoint set without current");
  }
  if (uuid === "" || backingFile === "") {
    throw new UsageError("a VMware disk is named by its machine's UUID and its backing file; one of them is missing");
  }
  if (socket === undefined) throw await missing(options);
  if (checkpoint.current !== undefined) {
    throw new UsageError("checkpoints of VMware disks are not supported: warm migration copies changed blocks only", {
      remedy: "Import the disk as a whole, without checkpoints.",
    });
  }
  const client = await NbdClient.connect(socket, stallMs, signal);
  const stream = new NbdStream(client);
  return {
    name: `VMware disk ${plainText(backingFile)}`,
    path: undefined,
    size: client.size,
    file: undefined,
    stream: () => stream,
    close: () => {
      stream.close();
      client.close();
    },
  };
}

async function missing({ arch, searchPath, library = VDDK_LIBRARY }: VddkOptions): Promise<UsageError> {
  if (arch !== "x64") {
    return new UsageError(`the ${arch} architecture does not support VDDK`, {
      remedy: "VMware makes its library for amd64 only: have the importer run on such a node.",
    });
  }
  const pieces = await missingForVddk(searchPath, library);
  const what = [...pieces, "the socket of an nbdkit that serves the disk"].join(", ");
  return new UsageError(`a VMware disk needs what is not here: ${what}`, { remedy: REMEDY });
}
