/**
 * The commands of docs/controller.md as an administrator types them, on a real API server with a real garbage collector: who
 * uninstalls keeps the claims, and CDI's CRDs are handed over with what is in them.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { allCrds } from "../../controller/crds/all-crds.ts";
import { OWNER_LABEL } from "../../controller/crds/definition.ts";
import { ensureCrds } from "../../controller/ensure-crds.ts";
import type { ObservedCrd } from "../../controller/ensure-crds.ts";
import { ROOT } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { openApi } from "./api.ts";
import type { Api } from "./api.ts";
import { requireControlPlane, withControlPlane } from "./control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";
import { changed, createCrds, folderOf, goodObject } from "./crds/good-objects.ts";
import { stopPrograms } from "./processes.ts";
import { clusterProgram } from "./programs.ts";
import { startBinder } from "./stub-nodes.ts";

const reason = await requireControlPlane();
const { skip } = reason === false ? await clusterProgram("kube-controller-manager") : { skip: reason };

const page = readFileSync(path.join(ROOT, "docs/controller.md"), "utf8");
const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEPLOYMENT = "/apis/apps/v1/namespaces/decant/deployments/decant-controller";

interface Found {
  readonly metadata: { readonly uid: string; readonly ownerReferences?: readonly object[] };
}

describe("the commands of docs/controller.md", { skip }, () => {
  it("hand CDI's CRDs over, and uninstall without the loss of a claim", async () => {
    await withCluster(async (run, api) => {
      for (const { metadata } of allCrds()) {
        await api.request("PATCH", `${CRDS}/${metadata.name}`, { metadata: { labels: { [OWNER_LABEL]: null } } });
      }
      run(commandsUnder("Installing").filter((line) => line.includes("apply -k")));
      assert.equal(ensureCrds(allCrds(), await observedCrds(api)).kind, "refused");
      run(commandsUnder("From KubeVirt's CDI"));
      assert.deepEqual(ensureCrds(allCrds(), await observedCrds(api)), {
        kind: "accepted",
        actions: [],
        isReady: true,
      });

      const dataVolume = await api.request<Found>("POST", folderOf("DataVolume"), goodObject("DataVolume"));
      await api.request("POST", CLAIMS, claimOf(dataVolume));
      await api.request("POST", folderOf("VolumeImportSource"), owned("VolumeImportSource", dataVolume));

      // Whoever deletes namespaces is not here.
      run(commandsUnder("Uninstalling").map((line) => line.replace("delete -k deploy/", "$& --wait=false")));
      await api.untilGone(DEPLOYMENT);
      assert.deepEqual(await observedCrds(api), []);
      const claim = await api.get<Found>(`${CLAIMS}/sample`);
      assert.equal(claim.metadata.ownerReferences, undefined);
    });
  });
});

type Shell = (lines: readonly string[]) => void;

async function withCluster(use: (run: Shell, api: Api) => Promise<void>): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    await withControlPlane(async (controlPlane) => {
      const api = openApi(controlPlane.kubeconfig);
      await createCrds(api);
      // It looks for new kinds only now and then.
      const collector = await startBinder(controlPlane, folder);
      try {
        await use(shellIn(folder, controlPlane), api);
      } finally {
        api.close();
        await stopPrograms([collector]);
      }
    });
  });
}

function shellIn(folder: string, { kubectl, kubeconfig }: ControlPlane): Shell {
  symlinkSync(kubectl, path.join(folder, "kubectl"));
  return (lines) => {
    assert.notEqual(lines.length, 0, "the page has commands there");
    const env = { PATH: `${folder}:${process.env["PATH"]}`, HOME: folder, KUBECONFIG: kubeconfig };
    execFileSync("sh", ["-ec", lines.join("\n")], { env, cwd: ROOT, stdio: "pipe" });
  };
}

/** Lines of the blocks of shell in this chapter. */
function commandsUnder(heading: string): string[] {
  const [, chapter = ""] = page.split(`\n## ${heading}\n`);
  const [text = ""] = chapter.split("\n## ");
  const blocks = [...text.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map((found) => found[1] ?? "");
  return blocks
    .join("")
    .trim()
    .split("\n")
    .map((line) => line.trim());
}

async function observedCrds(api: Api): Promise<readonly ObservedCrd[]> {
  const { items } = await api.get<{ readonly items: readonly ObservedCrd[] }>(CRDS);
  return items.filter(({ metadata }) => metadata.name.endsWith(".cdi.kubevirt.io"));
}

function claimOf(dataVolume: Found): object {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  return { ...owned("DataVolume", dataVolume), apiVersion: "v1", kind: "PersistentVolumeClaim", spec };
}

function owned(kind: string, { metadata: { uid } }: Found): object {
  const owner = { apiVersion: "cdi.kubevirt.io/v1beta1", kind: "DataVolume", name: "sample", uid };
  const ownerReferences = [{ ...owner, controller: true, blockOwnerDeletion: true }];
  return changed(goodObject(kind), { metadata: { ownerReferences } });
}
