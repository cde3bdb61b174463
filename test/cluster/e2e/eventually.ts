/** For what comes true by itself, as soon as the cluster gets to it. */
import { setTimeout as sleep } from "node:timers/promises";

const PATIENCE_MS = 150_000;
const POLL_MS = 250;

/** Until it throws no more. @throws what it threw last, after two minutes and a half */
export async function eventually(check: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(POLL_MS);
    }
  }
}
