/**
 * Opens an image for commands that look at all of it, in any order: a wrapped one is unwrapped into a temporary file first.
 */
import fs from "node:fs";
import os from "node:os";
import { driveParser } from "../importer/drive-parser.ts";
import type { LocalAccess, RandomAccess } from "../importer/random-access.ts";
import { openSource } from "../importer/sources/open-source.ts";
import { copyToTemporary } from "../importer/temporary-file.ts";
import { unwrapSource } from "../importer/unwrap-source.ts";
import type { UnwrapSourceOptions } from "../importer/unwrap-source.ts";
import type { DiskImage } from "../formats/disk-format.ts";
import type { CommandIo } from "./command-io.ts";
import { connect, tellWarnings } from "./connection-options.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { decoderChoice, memoryLimit } from "./image-options.ts";
import type { ImageOptions } from "./image-options.ts";

export interface OpenedImage {
  readonly name: string;
  readonly image: DiskImage;
  readonly file: RandomAccess;
  close(): void;
}

export function unwrapOptions(options: ImageOptions, io: CommandIo): UnwrapSourceOptions {
  return {
    decoders: decoderChoice(io),
    memoryLimit: memoryLimit(),
    format: options.format,
    member: options.member,
    archives: true,
    inOrder: false,
    asOneStream: false,
    opened: () => undefined,
    passing: (stream) => stream,
  };
}

/** @throws FormatError, SourceError */
export async function openImage(name: string, options: ConnectionOptions, io: CommandIo): Promise<OpenedImage> {
  const connection = connect(name, options, io);
  const source = await openSource(name, connection.source);
  tellWarnings([...connection.warnings, ...(source.warnings?.() ?? [])], io);
  let remote: RandomAccess | undefined;
  let temporary: LocalAccess | undefined;
  const close = (): void => {
    remote?.close();
    source.close();
    if (temporary !== undefined) fs.closeSync(temporary.spec.fd);
  };
  try {
    const unwrapped = await unwrapSource(source, { ...unwrapOptions(options, io), opened: (file) => (remote = file) });
    let { file } = unwrapped;
    if (file === undefined) {
      if (unwrapped.stream === undefined) throw new Error("neither a file nor a stream");
      temporary = await copyToTemporary(unwrapped.stream, os.tmpdir());
      file = temporary;
      await unwrapped.stream.close();
    }
    const image = await driveParser(unwrapped.format.open(file.size), file);
    return { name: source.name, image, file, close };
  } catch (error) {
    close();
    throw error;
  }
}
