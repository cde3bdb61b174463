import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openIsalInflater } from "../../../../formats/codecs/system/isal.ts";
import { listDecoders } from "../../../../formats/codecs/system/inventory.ts";
import { openLibrary } from "../../../../formats/codecs/system/koffi.ts";
import { openLibdeflate } from "../../../../formats/codecs/system/libdeflate.ts";
import { openLiblzma } from "../../../../formats/codecs/system/liblzma.ts";
import { openLibzstd } from "../../../../formats/codecs/system/libzstd.ts";

describe("system decoders", () => {
  it("are listed, in use exactly where they open", () => {
    const opened: Readonly<Record<string, unknown>> = {
      libisal2: openIsalInflater(),
      libdeflate0: openLibdeflate(),
      libzstd1: openLibzstd(),
      liblzma5: openLiblzma(),
    };
    const listed = listDecoders();
    assert.deepEqual(listed.map((entry) => entry.library).sort(), Object.keys(opened).sort());
    for (const entry of listed) {
      assert.equal(entry.version !== undefined, opened[entry.library] !== undefined, entry.library);
      for (const text of [entry.job, entry.fallback, entry.gain]) assert.ok(text.length > 0);
    }
  });

  it("tell their version where they have one", () => {
    for (const version of [openLibzstd()?.version, openLiblzma()?.version]) {
      if (version !== undefined) assert.match(version, /^\d+\.\d+\.\d+/);
    }
  });

  it("are undefined where the library is not on the machine", () => {
    assert.equal(openLibrary(["libnothing-of-the-kind.so.9"]), undefined);
  });
});
