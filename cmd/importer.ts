#!/usr/bin/env node
/**
 * The worker as a program of its own, which is what an importer pod starts. The same as `decant import`.
 */
import { processIo } from "./command-io.ts";
import { run } from "./import.ts";
import { report } from "./report-error.ts";

const io = processIo();
let status: number;
try {
  status = await run(process.argv.slice(2), io);
} catch (error) {
  status = report(error, io, false);
}
io.exit(status);
