import assert from "node:assert/strict";
import type { LookupAddress, LookupOptions } from "node:dns";
import { describe, it } from "node:test";
import { localLookup } from "../../../importer/http/local-lookup.ts";

function lookup(name: string, options: LookupOptions): Promise<string | LookupAddress[]> {
  return new Promise((resolve, reject) => {
    localLookup(name, options, (error, address) => (error === null ? resolve(address) : reject(error)));
  });
}

describe("localLookup", () => {
  it("takes localhost for this machine, without asking anybody", async () => {
    for (const name of ["localhost", "LocalHost"]) {
      assert.equal(await lookup(name, {}), "127.0.0.1");
      assert.equal(await lookup(name, { family: 6 }), "::1");
      assert.deepEqual(await lookup(name, { all: true }), [
        { address: "127.0.0.1", family: 4 },
        { address: "::1", family: 6 },
      ]);
      assert.deepEqual(await lookup(name, { all: true, family: 4 }), [{ address: "127.0.0.1", family: 4 }]);
    }
  });

  it("leaves every other name to the system", async () => {
    assert.equal(await lookup("127.0.0.1", {}), "127.0.0.1");
    await assert.rejects(lookup("no-such-host.invalid", {}), (error) => error instanceof Error && "code" in error);
  });
});
