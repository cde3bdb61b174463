/**
 * Credentials for registries as docker, podman and Kubernetes keep them: `{"auths": {"quay.io": {"auth": "dXNlcjpwYXNz"}}}`.
 *
 * The same text stands in `~/.docker/config.json`, in podman's `auth.json` and in a pull secret of Kubernetes. Of several
 * entries the one that names most of the image's repository counts. Passwords in a keychain are asked for with docker's
 * credential helpers, which are programs: that is for the command line, a worker has none.
 * @see containers-auth.json(5); docker "Credential stores"
 */
import { FormatError } from "../../formats/errors.ts";
import { asObject, objectAt, parseObject, textAt, textsOf } from "./json-object.ts";
import type { JsonObject } from "./json-object.ts";
import type { RegistryReference } from "./reference.ts";
import type { RegistryLogin } from "./token-auth.ts";

/** Bytes; a file of a hundred registries takes some 20 KiB. */
export const MAX_CONFIG_LENGTH = 1024 * 1024;

/** Docker Hub's name in files that docker writes. */
const HUB_KEY = "index.docker.io";

/** Stands where a user name would, before an identity token. */
const TOKEN_USER = "<token>";

/** What a file says of a registry: the credentials, or the helper that has them. */
export type Finding =
  | { readonly login: RegistryLogin }
  | { readonly helper: string; readonly server: string }
  | undefined;

/**
 * @param what names the file in the message
 * @throws FormatError FORMAT_INVALID if it is no such file; nothing of it is shown
 */
export function findLogin(text: string, reference: RegistryReference, what: string): Finding {
  const document = parseObject(Buffer.from(text), what);
  const auths = objectAt(document, "auths") ?? {};
  const keys = namesOf(reference);
  const helper = keys.map((key) => textsOf(objectAt(document, "credHelpers"))[key]).find((name) => name !== undefined);
  const host = keys.at(-1) ?? reference.registry;
  if (helper !== undefined && helper !== "") return { helper, server: serverOf(host) };
  const entry = bestEntry(auths, keys);
  const login = entry === undefined ? undefined : readEntry(entry, what);
  if (login !== undefined) return { login };
  const store = textAt(document, "credsStore") ?? "";
  return store === "" ? undefined : { helper: store, server: serverOf(host) };
}

/** Whether a secret is the text of such a file and no password. */
export function isDockerConfig(text: string): boolean {
  if (!/^\s*\{/.test(text) || text.length > MAX_CONFIG_LENGTH) return false;
  try {
    return objectAt(parseObject(Buffer.from(text), "the secret"), "auths") !== undefined;
  } catch {
    return false;
  }
}

/** What a credential helper prints. @throws FormatError FORMAT_INVALID */
export function readHelperAnswer(text: string, what: string): RegistryLogin | undefined {
  const answer = parseObject(Buffer.from(text), what);
  return loginOf(textAt(answer, "Username"), textAt(answer, "Secret"), undefined);
}

/** From the whole repository down to the host: `quay.io/team/image`, `quay.io/team`, `quay.io`. */
function namesOf({ registry, repository }: RegistryReference): string[] {
  const parts = [registry, ...repository.split("/")];
  return parts.map((_, dropped) => parts.slice(0, parts.length - dropped).join("/"));
}

function serverOf(host: string): string {
  return host === "docker.io" ? `https://${HUB_KEY}/v1/` : host;
}

function bestEntry(auths: JsonObject, names: readonly string[]): JsonObject | undefined {
  const entries = new Map<string, JsonObject>();
  for (const [key, value] of Object.entries(auths)) {
    const entry = asObject(value);
    const name = plainKey(key);
    // A key as it is used now goes before one with a scheme and a path of an API.
    if (entry !== undefined && (!entries.has(name) || name === key)) entries.set(name, entry);
  }
  return names.map((name) => entries.get(name)).find((entry) => entry !== undefined);
}

/** Without the scheme and the paths that old clients wrote. */
function plainKey(key: string): string {
  const name = key.replace(/^https?:\/\//, "").replace(/\/+$/, "");
  const isUrl = name !== key;
  const host = isUrl ? name.replace(/\/v[12]$/, "") : name;
  return host === HUB_KEY || host === "registry-1.docker.io" ? "docker.io" : host;
}

function readEntry(entry: JsonObject, what: string): RegistryLogin | undefined {
  const auth = textAt(entry, "auth") ?? "";
  const decoded = Buffer.from(auth, "base64").toString("utf8").replace(/\0+$/, "");
  const colon = decoded.indexOf(":");
  if (auth !== "" && colon === -1) {
    throw new FormatError("FORMAT_INVALID", `${what} has an entry whose "auth" is no user and password in base64`);
  }
  const [user, password] = colon === -1 ? [] : [decoded.slice(0, colon), decoded.slice(colon + 1)];
  return loginOf(
    user ?? textAt(entry, "username"),
    password ?? textAt(entry, "password"),
    textAt(entry, "identitytoken"),
  );
}

function loginOf(
  user: string | undefined,
  password: string | undefined,
  token: string | undefined,
): RegistryLogin | undefined {
  if (token !== undefined && token !== "") return { kind: "identity-token", token };
  if (user === undefined || password === undefined || password === "") return undefined;
  return user === TOKEN_USER ? { kind: "identity-token", token: password } : { kind: "password", user, password };
}
