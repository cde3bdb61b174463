/**
 * decant convert: pours an image into a raw disk.
 */
import os from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { Option } from "commander";
import { parseChecksum } from "../importer/checksum.ts";
import { ImportAttempts } from "../importer/attempts.ts";
import type { Report } from "../importer/data-processor.ts";
import { UsageError } from "../importer/errors.ts";
import { orInterrupted } from "../importer/or-interrupted.ts";
import { EXIT_OK } from "../importer/outcome.ts";
import type { RunOptions } from "../importer/run.ts";
import { openSource } from "../importer/sources/open-source.ts";
import { isSameStorage } from "../importer/targets/same-file.ts";
import { openTarget } from "../importer/targets/open-target.ts";
import type { Target } from "../importer/targets/target.ts";
import type { CommandIo } from "./command-io.ts";
import { addConnectionOptions, connect } from "./connection-options.ts";
import type { Connection, ConnectionOptions } from "./connection-options.ts";
import { HELP_SHOWN, newCommand, parseCommand } from "./command-line.ts";
import {
  decoderChoice,
  exitCodesHelp,
  formatOption,
  memberOption,
  memoryLimit,
  quantityArgument,
  threadsOption,
} from "./image-options.ts";
import { stagesOf } from "./stages.ts";
import type { Stages } from "./stages.ts";
import { showProgress } from "./progress-display.ts";
import type { ProgressStyle } from "./progress-display.ts";
import { summaryText } from "./summary.ts";

interface ConvertOptions extends ConnectionOptions {
  readonly size?: number;
  readonly preallocate: "off" | "falloc" | "full";
  readonly checksum?: string;
  readonly verify?: true;
  readonly digest?: true;
  readonly threads: number;
  readonly direct?: true;
  readonly assumeZero?: true;
  readonly strict?: true;
  readonly json?: true;
  readonly progress: ProgressStyle;
  readonly force?: true;
  readonly scratch?: string;
}

/** What `--json` prints. Sizes in bytes. */
export interface ConvertResult {
  readonly source: string;
  readonly wrappers: readonly string[];
  readonly format: string;
  readonly virtualSize: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly bytesZeroed: number;
  readonly spilled: boolean;
  /** How often a connection that broke off or fell silent was continued. */
  readonly resumes: number;
  readonly seconds: number;
  /** Where the time went. */
  readonly stages: Stages;
  readonly maxRssBytes: number;
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  readonly target: string;
  /** SHA-256 of the disk, with `--digest`. */
  readonly digest?: string;
}

const EXAMPLES = `Source: a path, - for standard input, http(s)://…, s3://BUCKET/KEY, gs://BUCKET/OBJECT, docker://HOST/NAME:TAG,
oci-archive:FILE, or blank:SIZE for a disk without an image. Target: a new file, a block device, or null: to decode and throw away.
Compressed images and archives are unwrapped as they pass; what they are is decided by their content.

Passwords and tokens come from files and the environment: netrc, AWS profiles and variables, GOOGLE_APPLICATION_CREDENTIALS,
~/.docker/config.json; proxies from http_proxy, https_proxy and no_proxy.

Examples:
  decant convert disk.qcow2 disk.raw
  decant convert --size 20Gi --digest appliance.ova /dev/vg0/disk
  decant convert --cacert ca.pem https://images.corp/disk.vmdk disk.raw
  curl -s https://example.org/disk.qcow2.xz | decant convert - disk.raw

${exitCodesHelp()}`;

export async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand("convert", "Pours an image into a raw disk.", EXAMPLES, io)
    .argument("<source>", "image to read")
    .argument("<target>", "raw disk to write")
    .option("--size <size>", "grow the disk to this size, e.g. 10Gi, 10G or plain bytes", quantityArgument)
    .addOption(
      new Option("--preallocate <mode>", "reserve or write the space of zeros too")
        .choices(["off", "falloc", "full"])
        .default("off"),
    )
    .addOption(formatOption())
    .addOption(memberOption())
    .option(
      "--checksum <algorithm:hex>",
      "what the source's bytes must hash to as they are stored: md5, sha1, sha256 or sha512; of a container image the bytes " +
        "of its disk's file, of an artifact those of its blob",
    )
    .option("--verify", "read the target again and compare it with the source")
    .option("--digest", "print the SHA-256 of the disk")
    .addOption(threadsOption())
    .option("--direct", "write past the page cache (O_DIRECT)")
    .option("--assume-zero", "trust that a device already reads as zeros")
    .option("--strict", "treat warnings as errors")
    .option(
      "--scratch <folder>",
      "where a stream may wait if its image is badly out of order; default: beside the target",
    )
    .option("--json", "print one JSON object instead of the summary")
    .addOption(
      new Option("--progress <style>", "how to show progress")
        .choices(["auto", "bar", "plain", "json", "none"])
        .default("auto"),
    )
    .option("--force", "replace an existing file; it stays until the new one is complete");
  addConnectionOptions(command);
  if (parseCommand(command, args) === HELP_SHOWN) return EXIT_OK;
  const [source = "", target = ""] = command.args;
  const options = command.opts<ConvertOptions>();
  const result = await convert(source, target, options, io);
  if (options.json === true) io.stdout.write(`${JSON.stringify(result)}\n`);
  else if (result.digest !== undefined) io.stdout.write(`${result.digest}  ${result.target}\n`);
  return EXIT_OK;
}

async function convert(
  sourceName: string,
  targetName: string,
  options: ConvertOptions,
  io: CommandIo,
): Promise<ConvertResult> {
  const started = performance.now();
  const { signal } = io; // before there is anything to clean up
  const runOptions = toRunOptions(targetName, options, io);
  const connection = connect(sourceName, options, io, { isChecked: options.checksum !== undefined });
  const opening = openSource(sourceName, connection.source);
  const source = await orInterrupted(opening, signal, (late) => late.close());
  const openNamedTarget = (assumeZero = options.assumeZero === true): Target =>
    openTarget(targetName, {
      force: options.force === true,
      preallocate: options.preallocate,
      direct: options.direct === true,
      assumeZero,
    });
  let report: Report;
  let target;
  try {
    if (source.path !== undefined && isSameStorage(source.path, targetName)) {
      throw new UsageError(`${targetName} is the source itself`);
    }
    target = openNamedTarget();
  } catch (error) {
    source.close();
    throw error;
  }
  // What an attempt has written reads as zeros no more.
  const places = { source, target, reopenTarget: () => openNamedTarget(false) };
  const processor = new ImportAttempts(places, runOptions, signal);
  const stopProgress = showProgress(
    options.json === true && options.progress === "auto" ? "none" : options.progress,
    io,
    () => processor.progress,
  );
  try {
    report = await processor.run();
  } finally {
    stopProgress();
  }
  const seconds = (performance.now() - started) / 1000;
  const isLocal = source.path !== undefined;
  const result = toResult(report, { source: source.name, target: target.name, seconds, isLocal }, connection, io);
  if (options.json !== true) io.stderr.write(summaryText(report, result));
  return result;
}

function toRunOptions(targetName: string, options: ConvertOptions, io: CommandIo): RunOptions {
  return {
    finalSize: (virtualSize) => grownSize(virtualSize, options.size),
    format: options.format,
    member: options.member,
    archives: true,
    checksum: options.checksum === undefined ? undefined : parseChecksum(options.checksum),
    verify: options.verify === true,
    digest: options.digest === true,
    threads: options.threads,
    decoders: decoderChoice(io),
    strict: options.strict === true,
    memoryLimit: memoryLimit(),
    spillFolder:
      options.scratch ??
      (targetName === "null:" || targetName.startsWith("/dev/") ? os.tmpdir() : path.dirname(targetName)),
  };
}

/** @throws UsageError where --size would cut the disk */
function grownSize(virtualSize: number, size: number | undefined): number {
  if (size === undefined || size >= virtualSize) return size ?? virtualSize;
  throw new UsageError(`--size ${size} is smaller than the disk, which has ${virtualSize} bytes; it can only grow`);
}

function toResult(
  report: Report,
  { source, target, seconds, isLocal }: Pick<ConvertResult, "source" | "target" | "seconds"> & { isLocal: boolean },
  connection: Connection,
  io: CommandIo,
): ConvertResult {
  return {
    source,
    wrappers: report.wrappers,
    format: report.format,
    virtualSize: report.virtualSize,
    bytesRead: report.bytesRead,
    bytesWritten: report.bytesWritten,
    bytesZeroed: report.bytesZeroed,
    spilled: report.spilledBytes > 0,
    resumes: report.resumes,
    seconds: Math.round(seconds * 1000) / 1000,
    stages: stagesOf(report, isLocal),
    maxRssBytes: io.maxRss(),
    warnings: [...connection.warnings, ...report.warnings],
    target,
    ...(report.digest === undefined ? {} : { digest: report.digest }),
  };
}
