/**
 * The programs of a Kubernetes, built from Go modules and kept in the cache of test/support/go-programs.ts.
 *
 * Kubernetes' own module can only be built from a module that repeats its `replace` lines (test/cluster/kubernetes/go.mod).
 * Others have `replace` lines of their own, which count only in a main module, so they are copied out of the module cache and
 * built in the copy. All of them take about ten minutes the first time.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { buildOnce } from "../support/go-programs.ts";
import type { Program, Recipe } from "../support/go-programs.ts";

const KUBERNETES_VERSION = "v1.34.4";
const KUBERNETES = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet"] as const;

const FLAGS = `-trimpath -buildvcs=false`;
/** Else they say that they are version 0.0.0, which their clients take for very old. */
const NAME_VERSION = `-s -w ${Object.entries({ gitVersion: KUBERNETES_VERSION, gitMajor: "1", gitMinor: "34" })
  .map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  .join(" ")}`;
const BUILD_TOOL = `"$1" build ${FLAGS} -ldflags "$4" -o "$3" "$5"`;
/** `$4` is module@version, `$5` the package in it. Modules in the cache are read-only. */
const BUILD_COPY = `
  cp -r "$("$1" mod download -json "$4" | sed -n 's/^\\t"Dir": "\\(.*\\)",$/\\1/p')" "$2/module" && chmod -R u+w "$2/module" &&
  cd "$2/module" && "$1" build ${FLAGS} -ldflags "-s -w" -o "$3" "$5"`;
const BUILD_HERE = `"$1" build ${FLAGS} -ldflags "-s -w" -o "$3" .`;

type ClusterProgram = (typeof KUBERNETES)[number] | "csi-provisioner" | "local-path-provisioner" | "csi-driver";

/** Every program, those first that others wait for. */
export const CLUSTER_PROGRAMS: readonly ClusterProgram[] = [
  ...KUBERNETES,
  "csi-provisioner",
  "local-path-provisioner",
  "csi-driver",
];

/**
 * A program of CLUSTER_PROGRAMS, built if it is not there yet.
 * @param announce called before it is built
 * @throws Error instead of a reason to skip with CI=true
 */
export async function clusterProgram(name: ClusterProgram, announce = sayIsBuilt(name)): Promise<Program> {
  const { version, ...recipe } = recipeOf(name);
  return await buildOnce(name, version, { ...recipe, announce });
}

function recipeOf(name: ClusterProgram): Recipe & { readonly version: string } {
  if (name === "csi-provisioner")
    return copied("github.com/kubernetes-csi/external-provisioner/v6@v6.4.0", `./cmd/${name}`);
  if (name === "local-path-provisioner") return copied(`github.com/rancher/${name}@v0.0.30`, ".");
  if (name === "csi-driver") {
    const cwd = path.join(import.meta.dirname, name);
    return { version: hashOf(cwd), script: BUILD_HERE, args: [], cwd };
  }
  return {
    version: KUBERNETES_VERSION,
    script: BUILD_TOOL,
    args: [NAME_VERSION, `k8s.io/kubernetes/cmd/${name}`],
    cwd: path.join(import.meta.dirname, "kubernetes"),
  };
}

function copied(module: string, folder: string): Recipe & { readonly version: string } {
  return { version: module.slice(module.lastIndexOf("@") + 1), script: BUILD_COPY, args: [module, folder] };
}

function hashOf(folder: string): string {
  const hash = createHash("sha256");
  for (const file of fs.readdirSync(folder).sort()) hash.update(fs.readFileSync(path.join(folder, file)));
  return hash.digest("hex").slice(0, 16);
}

function sayIsBuilt(name: string): () => void {
  return () => console.error(`building ${name}; the first time takes minutes`);
}
