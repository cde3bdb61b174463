/** Work that knows no signal of its own, given up once the process is told to stop. */
import { Interrupted } from "./errors.ts";

/**
 * @param late what the work has brought to nobody's use after that
 * @throws Interrupted as soon as the signal is aborted
 */
export async function orInterrupted<T>(work: Promise<T>, signal: AbortSignal, late: (result: T) => void): Promise<T> {
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => {
      reject(new Interrupted());
      work.then(late, () => undefined);
    };
  });
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([stopped, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
