import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ANNOTATIONS } from "../../../controller/api/names.ts";
import { ImportDraft } from "../../../controller/plan/draft.ts";
import { tell, warnOnce } from "../../../controller/plan/telling.ts";
import { claim, dataVolume, observed, outline } from "../../support/observed-import.ts";

describe("warnOnce", () => {
  it("says a thing once, another thing anew, and takes it back", () => {
    const said = ["one", "one", "two", undefined, undefined, "one"];
    let target = claim();
    const counts = said.map((message) => {
      const draft = new ImportDraft(observed({ target }));
      warnOnce(draft, target, "Trouble", message);
      target = draft.now.target ?? target;
      return outline(draft.actions).length;
    });
    assert.deepEqual(counts, [2, 0, 2, 1, 0, 2]);
  });

  it("keeps a text of any length within an event's", () => {
    const draft = new ImportDraft(observed({ target: claim() }));
    warnOnce(draft, claim(), "Trouble", "ä".repeat(5000));
    const kept = draft.now.target?.metadata.annotations?.[ANNOTATIONS.warned] ?? "";
    assert.ok(Buffer.byteLength(kept) <= 1024 && kept.endsWith("…"));
    const again = new ImportDraft(observed({ target: draft.now.target }));
    warnOnce(again, draft.now.target ?? claim(), "Trouble", "ä".repeat(5000));
    assert.deepEqual(again.actions, []);
  });

  it("is a problem of the DataVolume where there is one", () => {
    const draft = new ImportDraft(observed({ target: claim(), dataVolume: dataVolume() }));
    warnOnce(draft, claim(), "Trouble", "one");
    assert.deepEqual(draft.actions, []);
    assert.deepEqual(draft.foundProblem, { reason: "Trouble", message: "one" });
  });
});

describe("tell", () => {
  it("speaks to the user of a claim that has no DataVolume", () => {
    const draft = new ImportDraft(observed({ target: claim() }));
    tell(draft, claim(), "Normal", "Done", "it is done");
    assert.deepEqual(outline(draft.actions), ["event Done"]);
    const spokenFor = new ImportDraft(observed({ target: claim(), dataVolume: dataVolume() }));
    tell(spokenFor, claim(), "Normal", "Done", "it is done");
    assert.deepEqual(spokenFor.actions, []);
  });
});
