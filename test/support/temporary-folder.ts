/** A folder that lives as long as what is done in it, on the disk or in memory. */
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

/**
 * A folder whose files are in memory, where there is one: thousands of small runs need not wait for a disk.
 * @param roomBytes that must be free in it; else it is the one for temporary files
 */
export function memoryFolder(roomBytes = 0): string {
  const folder = "/dev/shm";
  try {
    fs.accessSync(folder, fs.constants.W_OK);
    const { bavail, bsize } = fs.statfsSync(folder);
    return bavail * bsize >= roomBytes ? folder : os.tmpdir();
  } catch {
    return os.tmpdir();
  }
}
