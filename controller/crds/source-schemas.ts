/**
 * Where data comes from: the sources of a DataVolume and of a VolumeImportSource, and the rules for each (contract 1.3, 1.10).
 */
import { countOf, filled, set } from "./cel.ts";
import { MAX_URL, flag, list, nameOf, object, oneOf, text } from "./schema.ts";
import type { Rule, Schema } from "./schema.ts";
import { frozen } from "./unchanged.ts";

const MAX_HEADERS = 64;
/** Servers take no longer ones. */
const MAX_HEADER = 8192;

const secretRef = nameOf("A Secret with accessKeyId and secretKey, in the same namespace.");
const certConfigMap = nameOf("A ConfigMap with certificates of authorities to trust, in the same namespace.");
const insecureSkipVerify = flag("The server's certificate is not checked.");

const isChecksum: Rule = {
  rule: "self == '' || self.matches('(?i)^(md5:[0-9a-f]{32}|sha1:[0-9a-f]{40}|sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$')",
  message: "write the checksum as algorithm:digits, with md5 (32 digits), sha1 (40), sha256 (64) or sha512 (128)",
};

const isRegistryUrl: Rule = {
  rule: "self.matches('^(docker://|oci-archive:).')",
  message: "give a URL that starts with docker:// or oci-archive:",
};

function url(description: string, schemes: readonly string[]): Schema {
  const list = schemes.map((scheme) => `'${scheme}'`).join(", ");
  const message = `give a complete URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`;
  const rule = `isURL(self) && url(self).getScheme() in [${list}] && url(self).getHost() != ''`;
  return text(description, { maxLength: MAX_URL, rules: [{ rule, message }] });
}

const http = object(
  {
    url: url("The image's URL.", ["http", "https"]),
    secretRef,
    certConfigMap,
    extraHeaders: list(text("A header.", { maxLength: MAX_HEADER }), "Headers to send, as Name: value.", {
      maxItems: MAX_HEADERS,
    }),
    secretExtraHeaders: list(nameOf("A Secret."), "Secrets whose values are headers to send.", {
      maxItems: MAX_HEADERS,
    }),
    checksum: text("What the bytes as served must have: md5, sha1, sha256 or sha512, a colon, and digits.", {
      maxLength: 256,
      rules: [isChecksum],
    }),
    insecureSkipVerify,
  },
  { description: "From a web server.", required: ["url"] },
);

const s3 = object(
  { url: url("The object's URL.", ["http", "https", "s3"]), secretRef, certConfigMap },
  { description: "From a bucket of S3 or the like.", required: ["url"] },
);

const gcs = object(
  {
    url: url("The object's URL.", ["http", "https", "gs"]),
    secretRef: nameOf("A Secret with credentials.json, in the same namespace."),
  },
  { description: "From a bucket of Google Cloud Storage.", required: ["url"] },
);

const registry = object(
  {
    url: text("docker://host/image:tag, or oci-archive:path.", { maxLength: MAX_URL, rules: [isRegistryUrl] }),
    imageStream: nameOf("An image stream in the same namespace.", { minLength: 1 }),
    pullMethod: oneOf(["pod", "node"], "Whether the worker pulls the image (pod, the default), or the node does."),
    secretRef,
    certConfigMap,
    platform: object(
      { architecture: text("Of the image, as in amd64.") },
      { description: "Which image of several.", "x-kubernetes-map-type": "atomic" },
    ),
  },
  {
    description: "From a container image.",
    rules: [
      { rule: "has(self.url) != has(self.imageStream)", message: "give exactly one of url and imageStream" },
      {
        rule: "!has(self.imageStream) || (has(self.pullMethod) && self.pullMethod == 'node')",
        message: "set pullMethod to node for an imageStream",
      },
    ],
  },
);

const blank = object({}, { description: "An empty disk." });

const imageio = object(
  {
    url: url("The engine's URL.", ["http", "https"]),
    diskId: text("The disk.", { minLength: 1 }),
    secretRef,
    certConfigMap,
    insecureSkipVerify,
  },
  {
    description: "From oVirt.",
    required: ["url", "diskId"],
    rules: [
      { rule: filled("self.secretRef"), message: "give a secretRef with the engine's user and password" },
      {
        rule: `(${filled("self.certConfigMap")}) || (${set("self.insecureSkipVerify")})`,
        message: "give a certConfigMap with the engine's authority, or set insecureSkipVerify",
      },
    ],
  },
);

const vddk = object(
  {
    url: url("The URL of vCenter or an ESXi host.", ["http", "https"]),
    uuid: text("The virtual machine."),
    backingFile: text("The disk, as in [datastore] folder/disk.vmdk."),
    thumbprint: text("Of the server's certificate."),
    secretRef,
    certConfigMap,
    initImageURL: text("A container image that holds VMware's library.", { maxLength: MAX_URL }),
    extraArgs: nameOf("A ConfigMap with settings for VMware's library."),
  },
  {
    description: "From VMware vSphere.",
    rules: ["url", "secretRef", "uuid", "backingFile", "thumbprint"].map((name) => {
      return { rule: filled(`self.${name}`), message: `give ${name}` };
    }),
  },
);

const upload = object({}, { description: "What a client sends." });

export function placeOf(what: string): Schema {
  return object(
    {
      namespace: nameOf(`The namespace of ${what}.`, { minLength: 1 }),
      name: nameOf(`The name of ${what}.`, { minLength: 1 }),
    },
    { description: `A copy of ${what}.`, required: ["namespace", "name"] },
  );
}

const importSources = { http, s3, gcs, registry, blank, imageio, vddk };
const cloneSources = { pvc: placeOf("a claim"), snapshot: placeOf("a volume snapshot") };

/** Of a VolumeImportSource. */
export const importSourceSchema = oneSource(importSources);

/** Of a DataVolume. */
export const dataVolumeSourceSchema = oneSource({ ...importSources, upload, ...cloneSources });

function oneSource(sources: Readonly<Record<string, Schema>>): Schema {
  const names = Object.keys(sources);
  const message = `give exactly one source: ${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
  const members = Object.fromEntries(Object.entries(sources).map(([name, schema]) => [name, frozen(schema)]));
  const description = "Where the data comes from; exactly one member.";
  return frozen(object(members, { description, rules: [{ rule: `${countOf(names)} == 1`, message }] }));
}
