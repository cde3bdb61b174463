/** A namespace with its DataVolumes, and nginx with a folder of images that worker pods reach. */
import fs from "node:fs";
import path from "node:path";
import { withNginx } from "../../support/nginx.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import type { Cluster } from "../cluster.ts";
import { Imports } from "./imports.ts";

export interface ServedImages {
  readonly imports: Imports;
  /** `host.test:port`. */
  readonly host: string;
  readonly urlOf: (name: string) => string;
  /** @returns the file, which is the machine's */
  readonly write: (name: string, content: Uint8Array) => string;
  /** How often a file was asked for with GET. */
  readonly gets: (name: string) => number;
}

/**
 * @param directives of nginx's server block
 * @param scheme `https`: the directives bring a certificate for `host.test`
 */
export async function withServedImages(
  cluster: Cluster,
  use: (served: ServedImages) => Promise<void>,
  { directives = "", scheme = "http" }: { readonly directives?: string; readonly scheme?: "http" | "https" } = {},
): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const listen = scheme === "https" ? "ssl" : "";
    await withNginx(folder, { directives, listen }, async ({ port, log }) => {
      await cluster.expose(port, async () => {
        await cluster.withNamespace(async (namespace) => {
          const host = `${cluster.hostName}:${port}`;
          await use({
            imports: new Imports(cluster, namespace),
            host,
            urlOf: (name) => `${scheme}://${host}/${name}`,
            write: (name, content) => {
              const file = path.join(folder, name);
              fs.writeFileSync(file, content);
              return file;
            },
            gets: (name) => log().filter((line) => line.startsWith(`GET /${name} `)).length,
          });
        });
      });
    });
  });
}
