/**
 * Programs of the machine, looked for before they are started.
 */
import fs from "node:fs";

/** Whether `file` is there, is a file, and may be run by this user. */
export function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
