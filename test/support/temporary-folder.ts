/** A folder that lives as long as what is done in it. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** Runs `use` with the name of a folder that is removed afterwards, however it ends. */
export async function withTemporaryFolder<T>(use: (folder: string) => Promise<T>, place = os.tmpdir()): Promise<T> {
  const folder = fs.mkdtempSync(path.join(place, "decant-test-"));
  try {
    return await use(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
