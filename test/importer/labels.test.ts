import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { labelsFromEnvironment } from "../../importer/labels.ts";

describe("labelsFromEnvironment", () => {
  const rows: readonly [name: string, line: string, labels: Readonly<Record<string, string>>][] = [
    [
      "a prefix and a name",
      "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora",
      { "instancetype.kubevirt.io/default-preference": "fedora" },
    ],
    ["no prefix", "KUBEVIRT_IO_TEST=testvalue", { "kubevirt.io/test": "testvalue" }],
    ["longer ones", "TEST_TEST_KUBEVIRT_IO_TEST_TEST=testvalue", { "test.test.kubevirt.io/test-test": "testvalue" }],
    ["a value in its own case", "KUBEVIRT_IO_A=U1.Micro_x", { "kubevirt.io/a": "U1.Micro_x" }],
    ["an empty value", "KUBEVIRT_IO_A=", { "kubevirt.io/a": "" }],
    ["the first of two domains", "KUBEVIRT_IO_KUBEVIRT_IO_A=b", { "kubevirt.io/kubevirt-io-a": "b" }],
    ["digits", "A1_KUBEVIRT_IO_2=3", { "a1.kubevirt.io/2": "3" }],
    ["another variable", "PATH=/usr/bin", {}],
    ["the domain in a value only", "PATH=KUBEVIRT_IO_A", {}],
    ["no equals sign", "KUBEVIRT_IO_TEST", {}],
    ["another case", "kubevirt_io_test=a", {}],
    ["nothing", "", {}],
  ];
  for (const [name, line, labels] of rows) {
    it(name, () => assert.deepEqual(labelsFromEnvironment([line]), { labels, refused: [] }));
  }

  it("sorts, and lets the last of equal names count", () => {
    const { labels } = labelsFromEnvironment(["KUBEVIRT_IO_B=1", "KUBEVIRT_IO_A=2", "KUBEVIRT_IO_B=3"]);
    assert.equal(JSON.stringify(labels), '{"kubevirt.io/a":"2","kubevirt.io/b":"3"}');
  });

  it("leaves out what the API server would refuse, and says so", () => {
    const wrong: readonly [line: string, key: string][] = [
      ["KUBEVIRT_IO_=a", "kubevirt.io/"],
      ["KUBEVIRT_IO_A=two words", "kubevirt.io/a"],
      ["KUBEVIRT_IO_A=-a", "kubevirt.io/a"],
      ["KUBEVIRT_IO_A_=a", "kubevirt.io/a-"],
      ["KUBEVIRT_IO_A=a=b", "kubevirt.io/a"],
      ["KUBEVIRT_IO_A=a\nb", "kubevirt.io/a"],
      ["_KUBEVIRT_IO_A=a", ".kubevirt.io/a"],
      ["A__KUBEVIRT_IO_A=a", "a..kubevirt.io/a"],
      ["XKUBEVIRT_IO_Ä=a", "xkubevirt.io/ä"],
      [`KUBEVIRT_IO_A=${"a".repeat(64)}`, "kubevirt.io/a"],
      [`KUBEVIRT_IO_${"A".repeat(64)}=a`, `kubevirt.io/${"a".repeat(64)}`],
      [`${"A_".repeat(130)}KUBEVIRT_IO_A=a`, `${"a.".repeat(130)}kubevirt.io/a`],
    ];
    for (const [line, key] of wrong) {
      assert.deepEqual(labelsFromEnvironment([line]), { labels: {}, refused: [key] }, line);
    }
    const edge = `KUBEVIRT_IO_${"A".repeat(63)}=${"b".repeat(63)}`;
    assert.deepEqual(labelsFromEnvironment([edge, "KUBEVIRT_IO_A=!"]), {
      labels: { [`kubevirt.io/${"a".repeat(63)}`]: "b".repeat(63) },
      refused: ["kubevirt.io/a"],
    });
  });
});
