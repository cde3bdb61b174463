/**
 * Takes the `engines` of all packages out of package-lock.json: `npm run lock`, after every change of dependencies.
 *
 * npm compares them with the Node.js that runs npm itself. Debian 12's is 18, on which nothing of ours runs (bin/node24),
 * and there npm not only warns: it leaves out optional packages without a word, among them the binaries of oxlint, oxfmt
 * and knip's parser. test/layout.test.ts sees to it that the lock file stays without.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

interface LockFile {
  readonly packages: Readonly<Record<string, { engines?: unknown }>>;
}

const file = path.join(import.meta.dirname, "..", "package-lock.json");
const lock = JSON.parse(readFileSync(file, "utf8")) as LockFile;
for (const entry of Object.values(lock.packages)) delete entry.engines;
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
