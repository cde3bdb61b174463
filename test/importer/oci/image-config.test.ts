import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { MAX_CONFIG_LENGTH, NO_CONFIG, parseImageConfig, refuseBootc } from "../../../importer/oci/image-config.ts";

const parse = (value: unknown) => parseImageConfig(Buffer.from(JSON.stringify(value)));

describe("parseImageConfig", () => {
  it("reads architecture, environment and labels", () => {
    const config = parse({
      architecture: "arm64",
      config: { Env: ["A=1", 5, "B=2"], Labels: { a: "b", c: 1 } },
    });
    assert.equal(config.architecture, "arm64");
    assert.deepEqual(config.environment, ["A=1", "B=2"]);
    assert.deepEqual(config.labels, { a: "b" });
  });

  it("takes what is missing or of another type for nothing", () => {
    for (const value of [{}, { config: null }, { config: { Env: "A=1", Labels: [] }, architecture: 5 }]) {
      assert.deepEqual(parse(value), NO_CONFIG);
    }
    assert.ok(MAX_CONFIG_LENGTH <= 4 * 1024 * 1024);
  });
});

describe("refuseBootc", () => {
  it("refuses both labels, in the words that users know", () => {
    for (const label of ["containers.bootc", "ostree.bootable"]) {
      assert.throws(
        () => refuseBootc(parse({ config: { Labels: { [label]: "1" } } })),
        (error) => error instanceof FormatError && error.message.startsWith("bootc image detected: "),
      );
    }
    refuseBootc(parse({ config: { Labels: { "containers.bootc": "0", other: "1" } } }));
  });
});
