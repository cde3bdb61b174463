#!/usr/bin/env node
/**
 * The worker as a program of its own, which is what an importer pod starts. The same as `decant import`.
 */
import { processIo } from "./command-io.ts";
import { report } from "./report-error.ts";

const io = processIo();
let status: number;
try {
  // Listened to before the rest is loaded: the kernel keeps a signal from a container's first process that does not listen.
  io.signal.throwIfAborted();
  const { run } = await import("./import.ts");
  status = await run(process.argv.slice(2), io);
} catch (error) {
  status = report(error, io, false);
}
io.exit(status);
