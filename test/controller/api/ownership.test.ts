/**
 * Whose an object is.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { controllerOf, controllerReference, isControlledBy } from "../../../controller/api/ownership.ts";
import { claim, dataVolume, unborn } from "../../support/observed-import.ts";

describe("ownership", () => {
  it("a reference names the owner, its UID and that it is the controller", () => {
    assert.deepEqual(controllerReference(dataVolume()), {
      apiVersion: "cdi.kubevirt.io/v1beta1",
      kind: "DataVolume",
      name: "fedora",
      uid: "dv-uid",
      controller: true,
      blockOwnerDeletion: true,
    });
  });

  it("what has no UID owns nothing", () => {
    assert.throws(() => controllerReference(unborn(dataVolume())), /does not exist yet/);
    assert.equal(isControlledBy(claim({ owner: dataVolume() }), unborn(dataVolume())), false);
  });

  it("the UID decides, not the name", () => {
    const owned = claim({ owner: dataVolume() });
    assert.equal(isControlledBy(owned, dataVolume()), true);
    assert.equal(isControlledBy(owned, dataVolume({ uid: "another" })), false);
    assert.equal(isControlledBy(claim(), dataVolume()), false);
  });

  it("an owner that is not the controller does not control", () => {
    const reference = { ...controllerReference(dataVolume()), controller: false };
    const owned = claim({ metadata: { ownerReferences: [reference] } });
    assert.equal(controllerOf(owned), undefined);
  });
});
