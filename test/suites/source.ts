/**
 * The contract of a source, run for each kind of it: `describeSource(kind, cases)`.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { baseDisk } from "../support/base-disk.ts";
import type { SourceFacts } from "../support/source-facts.ts";

export interface SourceCases {
  readonly skip?: false | string;
  /** Reads a source of this kind that serves `bytes`. */
  readonly facts: (bytes: Buffer) => Promise<SourceFacts>;
  /** Whether it knows its length, and can be read at any offset. */
  readonly passesOnce: boolean;
  /** Every length it can have is a multiple of this. */
  readonly unit?: number;
}

export function describeSource(kind: string, cases: SourceCases): void {
  describe(`source: ${kind}`, { skip: cases.skip ?? false }, () => {
    const unit = cases.unit ?? 1;
    for (const length of [0, 1, 4096, 65_536, 1_000_003].map((bytes) => Math.ceil(bytes / unit) * unit)) {
      if (unit > 1 && length === 0) continue;
      it(`gives ${length} bytes from the first to the last`, async () => {
        const bytes = length < 4096 ? Buffer.alloc(length, 7) : baseDisk(length);
        const facts = await cases.facts(bytes);
        const digest = createHash("sha256").update(bytes).digest("hex");
        assert.deepEqual([facts.length, facts.streamed, facts.afterEnd], [length, digest, 0]);
        assert.equal(facts.size, cases.passesOnce ? null : length);
        assert.equal(facts.atRandom, cases.passesOnce ? null : digest);
        // What lies on this machine can be compared with the target.
        assert.ok(facts.path !== null || cases.passesOnce);
        assert.ok(facts.name.length > 0);
      });
    }
  });
}
