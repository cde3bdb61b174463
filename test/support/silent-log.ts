/**
 * A controller's log that nobody reads, for tests of its parts.
 */
import { openLog } from "../../controller/log.ts";
import type { Log } from "../../controller/log.ts";

export function silentLog(): Log {
  return openLog({ verbosity: 0, write: () => undefined, now: () => new Date(0) });
}
