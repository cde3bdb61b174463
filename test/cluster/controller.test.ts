/**
 * The controller on a real API server with a real binder: what fake-api-server.ts promises is what really happens. Nodes are
 * played, so nothing but the calls is shown; whole imports in pods are in e2e/.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { importMany } from "./many-imports.ts";
import { requireControlPlane } from "./control-plane.ts";
import { clusterProgram } from "./programs.ts";

const reason = await requireControlPlane();
const { skip } = reason === false ? await clusterProgram("kube-controller-manager") : { skip: reason };

/** Half of them by a prime, half in place; events included. */
const MAX_WRITES_EACH = 15;
const MAX_RESIDENT_MB = 200;

describe("the controller on a real API server", { skip }, () => {
  it("fills the claims of many DataVolumes with few writes, and is then quiet", async () => {
    const { writesEach, idleWrites, residentMb } = await importMany({ count: 12, idleSeconds: 3 });
    assert.ok(writesEach <= MAX_WRITES_EACH, `${writesEach} writes each`);
    assert.equal(idleWrites, 0);
    assert.ok(residentMb <= MAX_RESIDENT_MB, `${residentMb} MB`);
  });
});
