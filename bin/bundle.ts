/**
 * Builds dist/ from the sources: a file for each program and each thread, and what they share. `npm run build`; `npm ci` does
 * it, and so does the image.
 *
 * Node.js takes about a millisecond for each file that it loads, and `decant convert` consists of 190. An empty qcow2, CPU
 * time of ten runs each on a busy machine: 0.27 to 0.38 s from the sources (their compile cache filled), 0.17 to 0.25 s
 * bundled.
 */
import fs from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const HOME = path.dirname(import.meta.dirname);

/** What a command does not need stays in files of its own, which it does not load. */
const PROGRAMS = ["cmd/decant.ts", "cmd/importer.ts", "cmd/size-detection.ts"];

/** Each lies beside whatever starts it. Bundled by themselves, for that makes fewer files: a thread shares no code with others. */
const THREADS = ["importer/engine/worker-thread.ts", "importer/worker/certificate-thread.ts"];

const made = path.join(HOME, `.dist-${process.pid}`);
const dist = path.join(HOME, "dist");
try {
  await bundle(PROGRAMS);
  await bundle(THREADS);
  fs.rmSync(dist, { recursive: true, force: true });
  fs.renameSync(made, dist);
} finally {
  fs.rmSync(made, { recursive: true, force: true });
}

/** Split: in one file, what is imported late would be loaded at once, node:http for instance, which takes 200 ms of CPU. */
async function bundle(entryPoints: string[]): Promise<void> {
  await build({
    absWorkingDir: HOME,
    entryPoints,
    entryNames: "[name]",
    outdir: made,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    packages: "external",
    logLevel: "warning",
  });
}
