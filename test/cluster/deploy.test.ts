/**
 * deploy/ on a real API server: one `kubectl apply -k`, what its ServiceAccount may then do and what it may not, the CRDs as files,
 * and the examples.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { CACHED_KINDS } from "../../controller/api/kinds.ts";
import { allCrds } from "../../controller/crds/all-crds.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { ApiError, openApi } from "./api.ts";
import type { Api } from "./api.ts";
import { askKubectl, provideApiServer } from "./api-server.ts";
import { requireControlPlane } from "./control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";
import { createCrds } from "./crds/good-objects.ts";

const skip = await requireControlPlane();

const DEPLOY = path.join(import.meta.dirname, "../../deploy");
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const LEASES = "/apis/coordination.k8s.io/v1/leases";
const ACCOUNT = { user: "system:serviceaccount:decant:decant-controller" };
const ANYBODY = { user: "somebody", groups: ["system:authenticated"] };

/** `verb resource[/subresource] [group]`, in the namespace `images`. */
const ALLOWED = [
  "patch datavolumes/status cdi.kubevirt.io",
  "create volumeimportsources cdi.kubevirt.io",
  "create persistentvolumeclaims",
  "delete persistentvolumeclaims",
  "patch persistentvolumes",
  "create pods",
  "delete pods",
  "create events",
  "patch events",
  "patch storageprofiles/status cdi.kubevirt.io",
  "list events",
  "get configmaps",
  "create configmaps",
  "patch configmaps",
  "patch dataimportcrons cdi.kubevirt.io",
];
const DENIED = [
  "get secrets",
  "list secrets",
  "list configmaps",
  "delete configmaps",
  "list nodes",
  "get namespaces",
  "delete persistentvolumes",
  "create pods/exec",
  "create datavolumes cdi.kubevirt.io",
  "delete datavolumes cdi.kubevirt.io",
  "patch pods",
  "patch cdis cdi.kubevirt.io",
  "create dataimportcrons cdi.kubevirt.io",
  "delete customresourcedefinitions apiextensions.k8s.io",
  "list leases coordination.k8s.io",
  "patch leases coordination.k8s.io",
  "create deployments apps",
  "create clusterrolebindings rbac.authorization.k8s.io",
];

interface Workload {
  readonly spec: { readonly replicas: number; readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly containers: readonly {
    readonly image: string;
    readonly env: readonly {
      readonly name: string;
      readonly valueFrom?: { readonly fieldRef: { fieldPath: string } };
    }[];
  }[];
}

describe("deploy/", { skip }, () => {
  let controlPlane: ControlPlane;
  let api: Api;
  provideApiServer(async (server) => {
    ({ controlPlane, api } = server);
    kubectl("apply", "-k", DEPLOY);
    // The controller manager, which is not there, makes one in each namespace.
    const account = { metadata: { name: "default" } };
    await api.request("POST", "/api/v1/namespaces/default/serviceaccounts", account);
  });

  it("two replicas run as restricted pods, and workers from the same image", async () => {
    const deployment = await api.get<Workload>("/apis/apps/v1/namespaces/decant/deployments/decant-controller");
    const { replicas, template } = deployment.spec;
    assert.equal(replicas, 2);
    const [container] = template.spec.containers;
    assert.deepEqual(
      container?.env.map(({ name, valueFrom }) => [name, valueFrom?.fieldRef.fieldPath]),
      [
        ["POD_NAMESPACE", "metadata.namespace"],
        ["POD_NAME", "metadata.name"],
      ],
    );
    const metadata = { name: "controller" };
    await api.request("POST", "/api/v1/namespaces/decant/pods?dryRun=All", { ...template, metadata });
    const { containers: _, ...unsafe } = template.spec;
    const spec = { ...unsafe, containers: [{ name: "controller", image: "decant" }] };
    const pod = { metadata, spec };
    await assert.rejects(
      api.request("POST", "/api/v1/namespaces/decant/pods?dryRun=All", pod),
      /PodSecurity "restricted/,
    );
  });

  it("an overlay's namespace and image reach all of it", async () => {
    await withTemporaryFolder(async (folder) => {
      const images = [{ name: "decant", newName: "mirror.example.org/decant", newTag: "2" }];
      const overlay = { namespace: "elsewhere", resources: [path.relative(folder, DEPLOY)], images };
      writeFileSync(path.join(folder, "kustomization.yaml"), JSON.stringify(overlay));
      const text = kubectl("kustomize", folder);
      assert.deepEqual(
        new Set(text.match(/^.*\bnamespace: .*$/gm)?.map((line) => line.trim())),
        new Set(["namespace: elsewhere"]),
      );
      assert.deepEqual(text.match(/\bimage: .*$/gm), ["image: mirror.example.org/decant:2"]);
    });
  });

  it("its account makes the CRDs and nothing else of the kind", async () => {
    const own = openApi(
      controlPlane.writeKubeconfig("controller", kubectl("create", "token", "decant-controller", "-n", "decant")),
    );
    try {
      await createCrds(api, own);
      const name = allCrds()[0]?.metadata.name ?? "";
      await own.request("PATCH", `${CRDS}/${name}`, { metadata: { annotations: { "example.org/note": "seen" } } });
      await isForbidden(own.request("DELETE", `${CRDS}/${name}`));
      await isForbidden(own.request("PATCH", `${CRDS}/others.example.org`, {}));
    } finally {
      own.close();
    }
  });

  it("its account finds the Leases of other controllers anywhere, and has its own", async () => {
    const token = kubectl("create", "token", "decant-controller", "-n", "decant");
    const own = openApi(controlPlane.writeKubeconfig("leases", token));
    try {
      for (const name of ["cdi-controller-leader-election-helper", "decant-controller"]) {
        await own.get(`${LEASES}?fieldSelector=metadata.name%3D${name}`);
      }
      await isForbidden(own.get(LEASES));
      const folder = "/apis/coordination.k8s.io/v1/namespaces/decant/leases";
      await own.request("POST", folder, { metadata: { name: "decant-controller" }, spec: { holderIdentity: "one" } });
      await own.request("PATCH", `${folder}/decant-controller`, { spec: { holderIdentity: "another" } });
      await isForbidden(own.get(`${folder}/others`));
    } finally {
      own.close();
    }
  });

  it("its account may do what the controller does, and no more", async () => {
    for (const { apiVersion, plural } of Object.values(CACHED_KINDS)) {
      const group = apiVersion.includes("/") ? apiVersion.split("/", 1)[0] : "";
      for (const verb of ["list", "watch"]) {
        assert.equal(await isAllowed(ACCOUNT, `${verb} ${plural} ${group}`), true, `${verb} ${plural}`);
      }
    }
    for (const what of ALLOWED) assert.equal(await isAllowed(ACCOUNT, what), true, what);
    for (const what of DENIED) assert.equal(await isAllowed(ACCOUNT, what), false, what);
  });

  it("whoever is known reads settings and profiles; roles of users have the rest", async () => {
    assert.equal(await isAllowed(ANYBODY, "get cdiconfigs cdi.kubevirt.io"), true);
    assert.equal(await isAllowed(ANYBODY, "list storageprofiles cdi.kubevirt.io"), true);
    assert.equal(await isAllowed(ANYBODY, "get datavolumes cdi.kubevirt.io"), false);
    for (const [role, user] of [
      ["decant-edit", "editor"],
      ["decant-view", "viewer"],
    ] as const) {
      kubectl("create", "clusterrolebinding", user, `--clusterrole=${role}`, `--user=${user}`);
    }
    assert.equal(await isAllowed({ user: "editor" }, "create datavolumes cdi.kubevirt.io"), true);
    assert.equal(await isAllowed({ user: "editor" }, "create datavolumes/source cdi.kubevirt.io"), true);
    assert.equal(await isAllowed({ user: "editor" }, "patch datavolumes/status cdi.kubevirt.io"), false);
    assert.equal(await isAllowed({ user: "viewer" }, "watch dataimportcrons cdi.kubevirt.io"), true);
    assert.equal(await isAllowed({ user: "viewer" }, "create datavolumes cdi.kubevirt.io"), false);
    assert.equal(await isAllowed({ user: "viewer" }, "create datavolumes/source cdi.kubevirt.io"), false);
  });

  it("the files of deploy/crds say what the controller makes", () => {
    for (const crd of allCrds()) {
      const file = path.join(DEPLOY, "crds", `${crd.spec.names.plural}.yaml`);
      assert.deepEqual(JSON.parse(kubectl("create", "--dry-run=client", "-o", "json", "-f", file)), crd);
    }
  });

  it("the API server takes every example", () => {
    const said = kubectl("create", "--dry-run=server", "--validate=strict", "-f", path.join(DEPLOY, "examples"));
    assert.equal(said.match(/^datavolume\.\S+ created/gm)?.length, 5);
    assert.match(said, /^pod\/consumer created/m);
    assert.equal(said.match(/^persistentvolumeclaim\/\S+ created/gm)?.length, 2);
  });

  async function isAllowed(who: object, what: string): Promise<boolean> {
    const [verb = "", name = "", group = ""] = what.split(" ");
    const [resource, subresource] = name.split("/");
    const resourceAttributes = { verb, group, resource, subresource, namespace: "images" };
    const body = { spec: { ...who, resourceAttributes } };
    const review = await api.request<{ readonly status: { readonly allowed: boolean } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      body,
    );
    return review.status.allowed;
  }

  function kubectl(...args: readonly string[]): string {
    return askKubectl(controlPlane, args);
  }
});

async function isForbidden(answer: Promise<unknown>): Promise<void> {
  await assert.rejects(answer, (error) => error instanceof ApiError && error.status === 403);
}
