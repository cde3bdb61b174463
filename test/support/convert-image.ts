/**
 * Converts an image that is held in memory, through the whole program: `decant convert --json` on a file of its bytes, in
 * this process. Says how it ended, and what it left in the folder.
 */
import fs from "node:fs";
import path from "node:path";
import * as convert from "../../cmd/convert.ts";
import type { ConvertResult } from "../../cmd/convert.ts";
import { runCommand } from "./command-io.ts";
import { memoryFolder, withTemporaryFolder } from "./temporary-folder.ts";

export interface ConvertImageOptions {
  /** The source's file name; the extension must not matter. */
  readonly name?: string;
  /** Options of `decant convert`. */
  readonly args?: readonly string[];
  /** Jobs in the caller's own thread (1, the default), or in so many workers. */
  readonly threads?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Where the disk goes; by default a new file. */
  readonly target?: string;
}

export interface ConvertedImage {
  /** Exit status. */
  readonly status: number;
  /** The error's code and sentence, as `--json` prints them; without one the run succeeded. */
  readonly code: string | undefined;
  readonly message: string;
  readonly result: ConvertResult | undefined;
  /** The disk, if it is no longer than MOST_LOADED. */
  readonly disk: Buffer | undefined;
  /** Length of the disk's file; undefined: there is none. */
  readonly size: number | undefined;
  /** Bytes that the file takes on its filesystem. */
  readonly allocated: number | undefined;
  /** What came into the folder and is not the disk. */
  readonly leftovers: readonly string[];
  readonly stderr: string;
}

/** Longer disks are measured, not read. */
const MOST_LOADED = 64 * 1024 * 1024;

export async function convertImage(image: Uint8Array, options: ConvertImageOptions = {}): Promise<ConvertedImage> {
  return await withTemporaryFolder(async (folder) => {
    const source = path.join(folder, options.name ?? "image");
    fs.writeFileSync(source, image);
    return await convertFile(source, folder, options);
  }, memoryFolder());
}

/** As convertImage, for a source that is there already; the target lies in `folder`. */
export async function convertFile(
  source: string,
  folder: string,
  options: ConvertImageOptions = {},
): Promise<ConvertedImage> {
  const target = options.target ?? path.join(folder, "target.raw");
  const before = new Set([...fs.readdirSync(folder), path.basename(target)]);
  const fixed = ["--json", "--progress", "none", "--threads", String(options.threads ?? 1)];
  const { status, stdout, stderr } = await runCommand(
    convert,
    [...fixed, ...(options.args ?? []), source, target],
    options,
  );
  const printed = JSON.parse(stdout) as ConvertResult | { readonly error: { code: string; message: string } };
  const stat = fs.statSync(target, { throwIfNoEntry: false });
  const isFile = stat?.isFile() === true;
  return {
    status,
    code: "error" in printed ? printed.error.code : undefined,
    message: "error" in printed ? printed.error.message : "",
    result: "error" in printed ? undefined : printed,
    disk: isFile && stat.size <= MOST_LOADED ? fs.readFileSync(target) : undefined,
    size: isFile ? stat.size : undefined,
    allocated: isFile ? stat.blocks * 512 : undefined,
    leftovers: fs.readdirSync(folder).filter((name) => !before.has(name)),
    stderr,
  };
}
