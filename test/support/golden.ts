/**
 * Expected outputs, kept as files in test/golden/ and written again by `npm run golden`.
 *
 * A golden file holds no time, path or host name, and a reviewer reads its diff. What it says comes from another program
 * where there is one that can tell, and from our own output only where the output itself is the promise.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const FOLDER = path.join(import.meta.dirname, "..", "golden");

/** The text of test/golden/`name`. Under `npm run golden` it is what `make` gives, and is written. */
export function golden(name: string, make: () => string): string {
  const file = path.join(FOLDER, name);
  if (process.env["UPDATE_GOLDEN"] === undefined) return readFileSync(file, "utf8");
  const text = make();
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return text;
}
