/**
 * The certificates of the cluster's proxy: the ConfigMap in the controller's namespace that CDIConfig names. It is asked for
 * when an import is planned, and again after a while: an administrator may mend it, and watching all ConfigMaps of a namespace
 * for one of them would be a right too many.
 */
import { isDeepStrictEqual } from "node:util";
import type { ApiClient } from "./api-client.ts";
import { ApiError } from "./api-error.ts";
import type { CdiConfig } from "./api/cdi.ts";
import { CONFIG_MAP } from "./api/kinds.ts";
import type { ConfigMap, StringMap } from "./api/kube.ts";
import type { Log } from "./log.ts";
import { isMap } from "./plan/draft.ts";
import type { FoundCertificates } from "./plan/observed.ts";

export interface ProxyCertificatesOptions {
  readonly client: Pick<ApiClient, "get">;
  readonly log: Log;
  readonly now: () => number;
  /** The controller's. */
  readonly namespace: string;
}

const FRESH_MS = 60_000;
/** One that is missing keeps imports waiting. */
const MISSING_FRESH_MS = 5_000;

export class ProxyCertificates {
  readonly #options: ProxyCertificatesOptions;
  #name = "";
  #found: FoundCertificates | undefined;
  #dueAt = 0;
  #asking: Promise<void> | undefined;

  constructor(options: ProxyCertificatesOptions) {
    this.#options = options;
  }

  /** As it was found last, the same object for as long as it says the same; undefined: CDIConfig names none. */
  get found(): FoundCertificates | undefined {
    return this.#found;
  }

  /** In how many milliseconds it is asked for again; undefined: CDIConfig names none. */
  get dueInMs(): number | undefined {
    return this.#name === "" ? undefined : Math.max(0, this.#dueAt - this.#options.now());
  }

  /** Asks if it is time; those who plan at the same moment wait for one answer. */
  async refresh(config: CdiConfig | undefined): Promise<void> {
    const name = nameIn(config);
    if (name !== this.#name) {
      this.#name = name;
      this.#found = undefined;
      this.#dueAt = 0;
      this.#asking = undefined;
    }
    if (name === "" || this.#options.now() < this.#dueAt) return;
    this.#asking ??= this.#ask(name);
    await this.#asking;
  }

  async #ask(name: string): Promise<void> {
    const { now, namespace } = this.#options;
    const found = await this.#find(name);
    // CDIConfig may name another one by now.
    if (name !== this.#name) return;
    const isMissing = "missing" in found;
    // What was there a moment ago does for a while, if the API server does not answer.
    const isKnown = !isMissing || this.#found === undefined || found.missing === missing(namespace, name);
    if (isKnown && !isDeepStrictEqual(found, this.#found)) this.#found = found;
    this.#dueAt = now() + (isMissing ? MISSING_FRESH_MS : FRESH_MS);
    this.#asking = undefined;
  }

  async #find(name: string): Promise<FoundCertificates> {
    const { client, log, namespace } = this.#options;
    try {
      const { data, binaryData } = (await client.get(CONFIG_MAP, name, namespace)) as ConfigMap;
      return { data: textsIn(data), binaryData: textsIn(binaryData) };
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return { missing: missing(namespace, name) };
      log.warn("cannot read the certificates of the proxy", { namespace, name, error });
      return { missing: `ConfigMap ${namespace}/${name} with the proxy's certificates cannot be read` };
    }
  }
}

function missing(namespace: string, name: string): string {
  return `ConfigMap ${namespace}/${name} is missing, which CDIConfig names for the proxy's certificates`;
}

function nameIn(config: CdiConfig | undefined): string {
  const name: unknown = config?.status?.importProxy?.trustedCAProxy;
  return typeof name === "string" ? name : "";
}

function textsIn(data: unknown): StringMap {
  if (!isMap(data)) return {};
  return Object.fromEntries(Object.entries(data).filter(([, value]) => typeof value === "string")) as StringMap;
}
