/**
 * A registry of the machine that nodes and pods reach: nodes over plain HTTP, pods over TLS with a certificate that an
 * authority of the test's own vouches for.
 */
import type { BuiltImage } from "../../support/build-image.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { pushImage, withDockerRegistry } from "../../support/docker-registry.ts";
import { tlsDirectives, withNginx } from "../../support/nginx.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import type { Cluster } from "../cluster.ts";

export interface GuestRegistry {
  /** `docker://…`, for the pull method `node`. */
  readonly forNode: string;
  /** The same for the pull method `pod`. */
  readonly forPod: string;
  /** For a ConfigMap that workers are to trust. */
  readonly authority: string;
  readonly push: (repository: string, tag: string, image: BuiltImage) => Promise<void>;
}

/** @param bytesPerSecond of what pods read of an image; default: as fast as can be */
export async function withGuestRegistry(
  cluster: Cluster,
  use: (registry: GuestRegistry) => Promise<void>,
  { bytesPerSecond = 0 }: { readonly bytesPerSecond?: number } = {},
): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const authority = makeAuthority(folder);
    const certificate = authority.issue(`DNS:${cluster.hostName}`);
    await withDockerRegistry(folder, {}, async ({ host }) => {
      const plainPort = Number(host.split(":")[1]);
      cluster.trustRegistry(plainPort);
      const directives = `
        ${tlsDirectives(folder, certificate)}
        location / { proxy_pass http://${host}; proxy_set_header Host $http_host; limit_rate ${bytesPerSecond}; }`;
      await withNginx(folder, { directives, listen: "ssl" }, async ({ port }) => {
        await cluster.expose(plainPort, async (origin) => {
          await cluster.expose(port, async () => {
            await use({
              forNode: `docker://${origin}`,
              forPod: `docker://${cluster.hostName}:${port}`,
              authority: authority.certificate,
              push: async (repository, tag, image) => await pushImage(host, repository, tag, image),
            });
          });
        });
      });
    });
  });
}
