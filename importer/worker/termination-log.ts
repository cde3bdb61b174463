/**
 * Writes the termination message where the kubelet reads it. Over whatever is there: the file belongs to the container, and a
 * restarted one finds its last message in it.
 */
import fs from "node:fs";
import { toTargetError } from "../errors.ts";

/** Of a new file. In a pod the kubelet has made it. */
const MODE = 0o600;

/**
 * @param message undefined: nothing is written
 * @throws TargetError where it cannot be written
 */
export function writeTerminationLog(path: string, message: string | undefined): void {
  if (message === undefined) return;
  try {
    fs.writeFileSync(path, message, { mode: MODE });
  } catch (error) {
    throw toTargetError(error, "write", path);
  }
}
