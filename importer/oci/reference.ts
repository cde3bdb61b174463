/**
 * Names of container images: `docker://host[:port]/repository[:tag][@digest]` and `oci-archive:path[:tag]`. A URL of http(s)
 * is taken for the first, when somebody said that it leads to a registry.
 *
 * As docker and skopeo read them: without a host it is Docker Hub, there without a folder it is `library`, without a tag it is
 * `latest`. A first part is a host if it has a dot or a port, or is `localhost`. With tag and digest the digest counts.
 * @see OCI distribution specification, "Pulling manifests": what names and tags may consist of
 */
import { quoted } from "../../formats/archives/shown-names.ts";
import { UsageError } from "../errors.ts";
import { parseContentDigest } from "./content-digest.ts";
import type { ContentDigest } from "./content-digest.ts";

export interface RegistryReference {
  readonly kind: "registry";
  /** The registry as it is called: `docker.io`, `localhost:5000`. Its credentials are kept under this name. */
  readonly registry: string;
  /** Host and port where it answers. */
  readonly host: string;
  readonly repository: string;
  /** Undefined where there is a digest. */
  readonly tag: string | undefined;
  readonly digest: ContentDigest | undefined;
  /** All of it, to show. */
  readonly name: string;
}

export interface ArchiveReference {
  readonly kind: "archive";
  readonly path: string;
  /** Undefined: the only image. */
  readonly tag: string | undefined;
  readonly name: string;
}

export type ImageReference = RegistryReference | ArchiveReference;

const HUB = "docker.io";
const HUB_ALIASES: readonly string[] = [HUB, "index.docker.io", "registry-1.docker.io"];
const HUB_HOST = "registry-1.docker.io";

/** Docker's limit for host and repository. */
const MAX_NAME_LENGTH = 255;

const HOST = /^(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const PART = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;

/** @throws UsageError */
export function parseImageReference(text: string): ImageReference {
  const registry = /^(?:docker|https?):\/\/(.*)$/is.exec(text)?.[1];
  if (registry !== undefined) return parseRegistry(registry);
  if (/^oci-archive:/i.test(text)) return parseArchive(text.slice("oci-archive:".length));
  throw new UsageError(`Invalid image name ${quoted(withoutAuth(text))}, unknown transport`, {
    remedy: "Images are named docker://HOST/NAME:TAG or oci-archive:PATH.",
  });
}

function parseRegistry(text: string): RegistryReference {
  const at = text.indexOf("@");
  const named = at === -1 ? text : text.slice(0, at);
  const digest = at === -1 ? undefined : parseContentDigest(text.slice(at + 1));
  if (at !== -1 && digest === undefined) throw malformed("what follows the @ is no sha256 or sha512 digest");
  const colon = named.indexOf(":", named.lastIndexOf("/"));
  const path = colon === -1 ? named : named.slice(0, colon);
  const tag = colon === -1 ? undefined : named.slice(colon + 1);
  if (tag !== undefined && !TAG.test(tag)) throw malformed(`${quoted(tag)} is no tag`);
  const { registry, repository } = splitPath(path);
  if (path.length > MAX_NAME_LENGTH) throw malformed(`it has more than ${MAX_NAME_LENGTH} characters`);
  const bad = repository.split("/").find((part) => !PART.test(part));
  if (bad !== undefined) throw malformed(`${quoted(bad)} is no part of a repository's name (lower case only)`);
  const host = registry === HUB ? HUB_HOST : registry;
  const version = digest === undefined ? `:${tag ?? "latest"}` : `@${digest.text}`;
  return {
    kind: "registry",
    registry,
    host,
    repository,
    tag: digest === undefined ? (tag ?? "latest") : undefined,
    digest,
    name: `docker://${registry}/${repository}${version}`,
  };
}

function splitPath(path: string): { readonly registry: string; readonly repository: string } {
  const slash = path.indexOf("/");
  const first = slash === -1 ? "" : path.slice(0, slash);
  const isHost = first === "localhost" || /[.:[]/.test(first);
  if (!isHost) return { registry: HUB, repository: slash === -1 ? `library/${path}` : path };
  if (!HOST.test(first)) throw malformed(`${quoted(first)} is no host`);
  const rest = path.slice(slash + 1);
  if (!HUB_ALIASES.includes(first)) return { registry: first, repository: rest };
  return { registry: HUB, repository: rest.includes("/") ? rest : `library/${rest}` };
}

function parseArchive(text: string): ArchiveReference {
  const colon = text.indexOf(":");
  const path = colon === -1 ? text : text.slice(0, colon);
  const tag = colon === -1 ? undefined : text.slice(colon + 1);
  if (path === "") throw malformed("there is no path");
  return { kind: "archive", path, tag: tag === "" ? undefined : tag, name: `oci-archive:${text}` };
}

/** The text itself is not shown: who writes a password into it will have it wrong, for there is no place for one. */
function malformed(why: string): UsageError {
  return new UsageError(`the name of the image cannot be read: ${why}`, {
    remedy: "Images are named docker://HOST/NAME:TAG or docker://HOST/NAME@sha256:DIGEST.",
  });
}

function withoutAuth(text: string): string {
  return text.replace(/\/\/[^/]*@/, "//");
}
