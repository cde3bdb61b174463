import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseChallenges } from "../../../importer/oci/challenge.ts";

describe("parseChallenges", () => {
  it("reads what registries write", () => {
    const header = `Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push"`;
    assert.deepEqual(parseChallenges(header), [
      {
        scheme: "bearer",
        parameters: {
          realm: "https://auth.docker.io/token",
          service: "registry.docker.io",
          scope: "repository:a/b:pull,push",
        },
      },
    ]);
    assert.deepEqual(parseChallenges(`BASIC REALM=plain`), [{ scheme: "basic", parameters: { realm: "plain" } }]);
  });

  it("tells several apart", () => {
    const schemes = parseChallenges(`Negotiate, Basic realm="a, b \\"c\\"" , Bearer realm=x,service=y`);
    assert.deepEqual(schemes, [
      { scheme: "negotiate", parameters: {} },
      { scheme: "basic", parameters: { realm: `a, b "c"` } },
      { scheme: "bearer", parameters: { realm: "x", service: "y" } },
    ]);
  });

  it("stops at what cannot be read", () => {
    for (const header of ["", "=", `"`, "realm=x", ",,,", `Bearer realm="open`]) {
      assert.deepEqual(
        parseChallenges(header).flatMap(({ parameters }) => Object.keys(parameters)),
        [],
        header,
      );
    }
    const long = parseChallenges(`Bearer ${'a="b",'.repeat(100_000)}`);
    assert.ok(long.length <= 2);
  });
});
