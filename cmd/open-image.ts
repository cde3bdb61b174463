/**
 * Opens an image for commands that look at all of it, in any order: a wrapped one is unwrapped into a temporary file first.
 */
import fs from "node:fs";
import os from "node:os";
import { driveParser } from "../importer/drive-parser.ts";
import { CountedStream } from "../importer/counted-stream.ts";
import type { RandomAccess } from "../importer/random-access.ts";
import { openSource } from "../importer/sources/open-source.ts";
import type { SourceOptions } from "../importer/sources/open-source.ts";
import { copyToTemporary } from "../importer/temporary-file.ts";
import { unwrapFile, unwrapStream } from "../importer/unwrap.ts";
import type { UnwrapOptions } from "../importer/unwrap.ts";
import type { DiskImage } from "../formats/disk-format.ts";
import type { CommandIo } from "./command-io.ts";
import { httpOptions } from "./connection-options.ts";
import { decoderChoice, memoryLimit } from "./image-options.ts";
import type { ImageOptions } from "./image-options.ts";

export interface OpenedImage {
  readonly name: string;
  readonly image: DiskImage;
  readonly file: RandomAccess;
  close(): void;
}

export function unwrapOptions(options: ImageOptions, io: CommandIo): UnwrapOptions {
  return {
    decoders: decoderChoice(io),
    memoryLimit: memoryLimit(),
    format: options.format,
    member: options.member,
    archives: true,
  };
}

export function sourceOptions(options: ImageOptions, io: CommandIo): SourceOptions {
  return { env: io.env, http: httpOptions(io), formatNamed: options.format !== undefined };
}

/** @throws FormatError, SourceError */
export async function openImage(name: string, options: ImageOptions, io: CommandIo): Promise<OpenedImage> {
  const source = await openSource(name, sourceOptions(options, io));
  let temporary: number | undefined;
  const close = (): void => {
    source.close();
    if (temporary !== undefined) fs.closeSync(temporary);
  };
  try {
    const unwrapping = unwrapOptions(options, io);
    const unwrapped =
      source.file === undefined
        ? await unwrapStream(new CountedStream(source.stream()), unwrapping)
        : await unwrapFile(source.file, unwrapping);
    let { file } = unwrapped;
    if (file === undefined) {
      if (unwrapped.stream === undefined) throw new Error("neither a file nor a stream");
      file = await copyToTemporary(unwrapped.stream, os.tmpdir());
      temporary = file.spec.fd;
      await unwrapped.stream.close();
    }
    const image = driveParser(unwrapped.format.open(file.size), file);
    return { name: source.name, image, file, close };
  } catch (error) {
    close();
    throw error;
  }
}
