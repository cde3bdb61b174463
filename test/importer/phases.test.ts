import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { explainPhases, nextPhase, transitions } from "../../importer/phases.ts";
import type { Phase } from "../../importer/phases.ts";
import { golden } from "../support/golden.ts";

const phases = Object.keys(transitions) as Phase[];

function followers(phase: Phase): Phase[] {
  return Object.values(transitions[phase]);
}

describe("the phase machine", () => {
  it("reaches every phase from Info", () => {
    const reached = new Set<Phase>(["Info"]);
    for (const phase of reached) for (const next of followers(phase)) reached.add(next);
    assert.deepEqual([...reached].sort(), [...phases].sort());
  });

  it("leads forward only", () => {
    for (const [at, phase] of phases.entries()) {
      for (const next of followers(phase)) assert.ok(phases.indexOf(next) > at, `${phase} → ${next}`);
    }
  });

  it("ends in Complete, whatever the outcomes, and nowhere else", () => {
    const ends = (phase: Phase): Phase[] => (followers(phase).length === 0 ? [phase] : followers(phase).flatMap(ends));
    assert.deepEqual([...new Set(ends("Info"))], ["Complete"]);
  });

  it("knows where each outcome leads, and no outcome of another phase", () => {
    assert.equal(nextPhase("Info", "stream"), "Transfer");
    assert.equal(nextPhase("Transfer", "spilled"), "Convert");
    assert.equal(nextPhase("Resize", "resized"), "Complete");
    assert.throws(() => nextPhase("Resize", "spilled" as never), /Resize has no outcome spilled/);
  });

  it("explains itself, and the path that a run took", () => {
    const path = [
      { phase: "Info", outcome: "stream", seconds: 0.1 },
      { phase: "Transfer", outcome: "on-target", seconds: 2 },
      { phase: "Resize", outcome: "resized", seconds: 0 },
      { phase: "Complete", outcome: undefined, seconds: 0.3 },
    ] as const;
    const text = `${explainPhases()}\n\n${explainPhases(path)}\n`;
    assert.equal(
      text,
      golden("phases.txt", () => text),
    );
  });
});
