/**
 * Which manifest of an index is the one: that of the platform asked for, else of this machine's. Pure.
 *
 * The operating system is always Linux: that of the container, not of the disk in it. Of several manifests for the platform
 * the one without a variant comes first, then the first. The texts are those that users of CDI know.
 */
import { listed } from "../../formats/archives/shown-names.ts";
import { FormatError } from "../../formats/errors.ts";
import { isSelected } from "./select-descriptor.ts";
import type { Descriptor, ImageIndex } from "./manifest.ts";

const OS = "linux";

/** Go's names, which registries use, of Node.js's. */
const GO_NAMES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le", loong64: "loong64" };

/** @param nodeArch `process.arch` */
export function goArchitecture(nodeArch: string): string {
  return GO_NAMES[nodeArch] ?? nodeArch;
}

/**
 * @param architecture in Go's words
 * @param selector     digest or annotation of one manifest of several for the platform
 * @throws FormatError FORMAT_UNSUPPORTED naming the platforms that there are
 */
export function choosePlatform(index: ImageIndex, architecture: string, selector: string | undefined): Descriptor {
  const [only, ...others] = index.manifests;
  // What is for no platform at all is for each.
  if (only !== undefined && others.length === 0 && only.platform === undefined) return only;
  const selected = selector === undefined ? [] : index.manifests.filter((manifest) => isSelected(manifest, selector));
  const candidates = selected.length > 0 ? selected : index.manifests;
  const fitting = candidates.filter(({ platform }) => platform?.architecture === architecture && platform.os === OS);
  const unbound = selected.length === 1 && selected[0]?.platform === undefined ? selected[0] : undefined;
  const chosen = fitting.find(({ platform }) => platform?.variant === "") ?? fitting[0] ?? unbound;
  if (chosen !== undefined) return chosen;
  const message = `no image found in image index for architecture "${architecture}", variant "", OS "${OS}"`;
  const platforms = platformsOf(index);
  throw new FormatError("FORMAT_UNSUPPORTED", message, {
    remedy: platforms.length === 0 ? "It names no platforms." : `It has ${listed(platforms)}.`,
    context: { architecture, platforms: platforms.slice(0, MAX_SHOWN) },
  });
}

/**
 * @param asked undefined: no architecture was asked for, and any will do
 * @param found of the image's config; empty: it does not say
 * @throws FormatError FORMAT_UNSUPPORTED
 */
export function checkArchitecture(asked: string | undefined, found: string): void {
  if (asked === undefined || asked === found) return;
  const shown = found.slice(0, MAX_ARCHITECTURE_LENGTH);
  const both = `manifest image architecture: "${shown}" doesn't match requested architecture: "${asked}"`;
  throw new FormatError("FORMAT_UNSUPPORTED", `Error validating architecture: ${both}`, {
    context: { architecture: asked, found: shown },
  });
}

/** The most platforms that an error's context holds. */
const MAX_SHOWN = 20;

/** The longest name of an architecture that a message shows. */
const MAX_ARCHITECTURE_LENGTH = 40;

/** As `linux/arm64/v8`; attestations, which are for `unknown/unknown`, are left out. */
function platformsOf(index: ImageIndex): string[] {
  const names = index.manifests.flatMap(({ platform }) => {
    if (platform === undefined || platform.os === "unknown") return [];
    return [[platform.os, platform.architecture, platform.variant].filter((part) => part !== "").join("/")];
  });
  return [...new Set(names)];
}
