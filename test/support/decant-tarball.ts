/**
 * The container image as a file that a node can be given, kept until something changes that it is made of.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { BASE, CACHE, buildDecantImage, requireImageBase } from "./decant-image.ts";
import { ROOT } from "./run-decant.ts";

/** By which pods ask for it; `imagePullPolicy: Never`, or another registry would be asked. */
export const DECANT_IMAGE = "decant:test";

/** Whoever goes between two states of the sources finds both. */
const KEPT = 3;

/**
 * The file's name. It is made if there is none for these sources: in minutes the first time, later in less than one.
 * @throws Error if images cannot be built here
 */
export async function decantTarball(): Promise<string> {
  const tarball = path.join(CACHE, `decant-${hashOfSources()}.tar`);
  if (fs.existsSync(tarball)) return tarball;
  const reason = await requireImageBase();
  if (reason !== false) throw new Error(`the image ${reason}`);
  const image = await buildDecantImage();
  // Under another name first: two test processes may make it at the same time.
  const unfinished = `${tarball}.${process.pid}`;
  await image.save(unfinished, `docker.io/library/${DECANT_IMAGE}`);
  fs.renameSync(unfinished, tarball);
  const newestFirst = fs.globSync(path.join(CACHE, "decant-*.tar")).sort((a, b) => ageOf(a) - ageOf(b));
  for (const old of newestFirst.slice(KEPT)) fs.rmSync(old, { force: true });
  return tarball;
}

/** Greater for an older one. One that another process has removed meanwhile is the oldest. */
function ageOf(file: string): number {
  return -(fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
}

/** Of the Dockerfile, its base, and what .dockerignore lets in: names, modes and contents. */
function hashOfSources(): string {
  const hash = createHash("sha256").update(BASE);
  const ignore = fs.readFileSync(path.join(ROOT, ".dockerignore"), "utf8").split("\n");
  const places = ignore.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  for (const file of ["Dockerfile", ...places].flatMap(filesIn).sort()) {
    const full = path.join(ROOT, file);
    const content = createHash("sha256").update(fs.readFileSync(full)).digest("hex");
    hash.update(`${file} ${fs.statSync(full).mode & 0o111} ${content}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}

/** Itself, or what is in it. */
function filesIn(place: string): string[] {
  if (!fs.statSync(path.join(ROOT, place)).isDirectory()) return [place];
  const entries = fs.readdirSync(path.join(ROOT, place), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)));
}
