/**
 * The copies of the proxy's certificates beside imports that are not done (plan/worker/proxy-config-map.ts). ConfigMaps are not
 * watched, so a copy is asked for when somebody has to know: once for each version of the certificates, and again until it has
 * that version.
 */
import type { ApiClient } from "./api-client.ts";
import { CONFIG_MAP } from "./api/kinds.ts";
import type { Claim, ConfigMap } from "./api/kube.ts";
import type { Log } from "./log.ts";
import { replacingPatch } from "./plan/cluster/replacing-patch.ts";
import type { FoundCertificates, ObservedImport } from "./plan/observed.ts";
import { proxyConfigMapName } from "./plan/worker/proxy-config-map.ts";

export interface ProxyCopiesOptions {
  readonly client: Pick<ApiClient, "find">;
  readonly log: Log;
}

export class ProxyCopies {
  readonly #options: ProxyCopiesOptions;
  /** By the UID of the claim: what its copy was seen to hold. */
  readonly #seen = new Map<string, FoundCertificates>();

  constructor(options: ProxyCopiesOptions) {
    this.#options = options;
  }

  /**
   * @param certificates the same object for as long as they are the same
   * @returns undefined where nothing new is to be learnt
   */
  async look(claim: Claim, certificates: FoundCertificates | undefined): Promise<ObservedImport["proxyCopy"]> {
    const { namespace, name, uid = "" } = claim.metadata;
    if (certificates === undefined || "missing" in certificates) return undefined;
    if (this.#seen.get(uid) === certificates) return undefined;
    try {
      const copy = await this.#options.client.find(CONFIG_MAP, proxyConfigMapName(name), namespace);
      if (copy === undefined) return "none";
      const { data, binaryData } = copy as ConfigMap;
      const differs = replacingPatch({ data, binaryData }, certificates) !== undefined;
      if (!differs) this.#seen.set(uid, certificates);
      return copy as ConfigMap;
    } catch (error) {
      this.#options.log.warn("cannot read the proxy's certificates beside a claim", { namespace, claim: name, error });
      return undefined;
    }
  }

  /** The claim is gone. */
  forget(uid: string): void {
    this.#seen.delete(uid);
  }
}
