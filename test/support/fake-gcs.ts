/**
 * fake-gcs-server, which speaks Google Cloud Storage's protocols, over a folder of buckets.
 */
import { withServerProcess } from "./server-process.ts";

/**
 * Runs `use` with its address.
 * @param folder holds a folder for each bucket
 */
export async function withFakeGcs<T>(
  program: string,
  folder: string,
  use: (endpoint: string) => Promise<T>,
): Promise<T> {
  const command = (port: number) => {
    const address = ["-scheme", "http", "-host", "127.0.0.1", "-port", String(port)];
    return [...address, "-public-host", `127.0.0.1:${port}`, "-backend", "memory", "-data", folder];
  };
  return await withServerProcess(program, command, async ({ port }) => await use(`http://127.0.0.1:${port}`));
}
