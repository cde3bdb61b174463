/**
 * Contract 3.4 to the byte: what a claim asks for, and what the worker then finds usable.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClaimSpec } from "../../../../controller/api/kube.ts";
import { overheadOf } from "../../../../controller/plan/config-values.ts";
import { askedStorage, claimSize } from "../../../../controller/plan/target/claim-size.ts";
import { quantityInBytes } from "../../../../importer/quantity.ts";
import { usableSpace } from "../../../../importer/target-size.ts";
import { cdiConfig, CSI_CLASS, facts } from "../../../support/observed-import.ts";

/** Asked, overhead, request, usable on the request, usable if a `pvc` had asked for the first. */
const GOLDEN: readonly [string, string, number, number, number][] = [
  ["1Gi", "0.06", 1138166334, 1073741824, 1012924416],
  ["10Gi", "0.06", 11381663335, 10737418240, 10129244160],
  ["500Mi", "0.06", 555745280, 524288000, 493879296],
  ["64Mi", "0.06", 71135396, 67108864, 62914560],
  ["100M", "0.06", 106703094, 100663296, 93323264],
  ["5G", "0.06", 5300698481, 5000658944, 4716494848],
  ["1Gi", "0.055", 1132797625, 1073741824, 1017118720],
];

function withOverhead(global: string) {
  return facts({ config: cdiConfig({}, { filesystemOverhead: { global } }) });
}

function specOf(storage: unknown, more: Partial<ClaimSpec> = {}): ClaimSpec {
  return {
    storageClassName: CSI_CLASS,
    resources: { requests: { storage } } as ClaimSpec["resources"] & object,
    ...more,
  };
}

function requestOf(spec: ClaimSpec, overhead = "0.06", minimum?: string): string {
  const found = claimSize(withOverhead(overhead), spec, minimum);
  assert.ok("request" in found, "refused" in found ? found.refused : "");
  return found.request;
}

describe("claimSize", () => {
  for (const [asked, overhead, request, usable, usableAsked] of GOLDEN) {
    it(`${asked} at ${overhead}`, () => {
      assert.equal(requestOf(specOf(asked), overhead), String(request));
      // As the worker reads it from its environment.
      const share = Number(overheadOf(withOverhead(overhead), specOf(asked)));
      assert.equal(usableSpace(share, request), usable);
      assert.equal(usableSpace(share, quantityInBytes(asked) ?? 0), usableAsked);
    });
  }

  for (const [name, spec, minimum, wanted] of [
    ["a device is not inflated", specOf("1Gi", { volumeMode: "Block" }), undefined, "1Gi"],
    ["nor is its odd size", specOf("100M", { volumeMode: "Block" }), undefined, "100M"],
    ["a device has the class's minimum", specOf("1Gi", { volumeMode: "Block" }), "4Gi", "4294967296"],
    ["a filesystem that is inflated past the minimum", specOf("4Gi"), "4Gi", "4552665334"],
    ["a filesystem below the minimum", specOf("1Gi"), "4Gi", "4294967296"],
    ["a minimum that is none", specOf("1Gi"), "large", "1138166334"],
    ["nothing for an empty class, but whole MiB", specOf("100M", { storageClassName: "" }), undefined, "100663296"],
    ["a plain number", specOf(1073741824), undefined, "1138166334"],
    ["a fraction", specOf("0.5Gi"), undefined, "569083167"],
    ["an exponent", specOf("1e9"), undefined, "1060361995"],
    ["thousandths", specOf("1073741824000m"), undefined, "1138166334"],
    ["the smallest", specOf("1Mi", { volumeMode: "Block" }), undefined, "1Mi"],
  ] as const) {
    it(name, () => {
      assert.equal(requestOf(spec, "0.06", minimum), wanted);
    });
  }

  for (const [name, storage, reason] of [
    ["none", undefined, /is missing/],
    ["empty", "", /is missing/],
    ["not a text", { a: 1 }, /is missing/],
    ["no quantity", "much", /much is not a quantity/],
    ["negative", "-1Gi", /not a quantity/],
    ["zero", "0", /less than 1Mi/],
    ["a forgotten suffix", "10", /less than 1Mi/],
    ["no volume is so large", "8Ei", /larger than any volume/],
  ] as const) {
    it(`refuses ${name}`, () => {
      const found = claimSize(withOverhead("0.06"), specOf(storage), undefined);
      assert.ok("refused" in found);
      assert.match(found.refused, reason);
    });
  }

  it("a claim without resources asks for nothing", () => {
    assert.equal(askedStorage(undefined), undefined);
    assert.equal(askedStorage({ requests: {} }), undefined);
  });
});
