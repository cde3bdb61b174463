/** For what comes true by itself, as soon as the cluster gets to it. */
import { setTimeout as sleep } from "node:timers/promises";

const PATIENCE_MS = 150_000;
const POLL_MS = 250;

/** Until it throws no more. @throws what it throws when that has been the same for two minutes and a half */
export async function eventually(check: () => Promise<void>): Promise<void> {
  let said = "";
  let since = Date.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (String(error) !== said) since = Date.now();
      said = String(error);
      if (Date.now() - since > PATIENCE_MS) throw error;
      await sleep(POLL_MS);
    }
  }
}
