/**
 * The whole capability table, one line for each key. It is contract 9.3 in another shape: a line that differs is a claim that
 * gets other access modes than elsewhere.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { capabilitiesOf, capabilityKeys } from "../../../../controller/plan/cluster/capabilities.ts";
import { golden } from "../../../support/golden.ts";

const SHORT: Readonly<Record<string, string>> = {
  ReadWriteMany: "RWX",
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  Block: "Block",
  Filesystem: "FS",
};

function lineOf(key: string): string {
  const found = capabilitiesOf(key);
  const sets = (found?.sets ?? []).map(({ accessModes = [], volumeMode = "" }) => {
    return `${accessModes.map((mode) => SHORT[mode]).join(",")}/${SHORT[volumeMode]}`;
  });
  const columns = [
    sets.join(" "),
    found?.cloneStrategy,
    found?.cronFormat,
    found?.minimumSize,
    found?.readWriteOnceForCron === true ? "yes" : "",
  ];
  return [key, ...columns.map((column) => column || "-")].join(" | ");
}

describe("capabilitiesOf", () => {
  it("has every row of the table, and no other", () => {
    const table = (): string => `${capabilityKeys().map(lineOf).sort().join("\n")}\n`;
    assert.equal(table(), golden("storage-capabilities.txt", table));
  });

  it("knows nothing of another provisioner", () => {
    assert.equal(capabilitiesOf("rancher.io/local-path"), undefined);
    assert.equal(capabilitiesOf("toString"), undefined);
  });
});
