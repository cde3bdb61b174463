/**
 * A namespace with its DataVolumes, and a web server that sends the first half of each image, and the rest when it is told to: so
 * imports are in progress for as long as a test wants them to be.
 */
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { Cluster } from "../cluster.ts";
import { Imports } from "./imports.ts";

export interface HeldImages {
  readonly imports: Imports;
  readonly urlOf: (name: string) => string;
  /** From now on everything comes at once, also what is still held. */
  readonly release: () => void;
}

/** @param images by name */
export async function withHeldImages(
  cluster: Cluster,
  images: ReadonlyMap<string, Uint8Array>,
  use: (held: HeldImages) => Promise<void>,
): Promise<void> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const server = http.createServer((request, response) => {
    const image = images.get(request.url?.slice(1) ?? "");
    if (image === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-length": image.length });
    const half = image.length >> 1;
    if (request.method === "GET") response.write(image.subarray(0, half));
    void released.then(() => response.end(image.subarray(half)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    await cluster.expose(port, async () => {
      await cluster.withNamespace(async (namespace) => {
        const imports = new Imports(cluster, namespace);
        await use({ imports, urlOf: (name) => `http://${cluster.hostName}:${port}/${name}`, release });
      });
    });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
