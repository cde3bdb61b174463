import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseGoFlags } from "../../cmd/go-flags.ts";
import { UsageError } from "../../importer/errors.ts";

describe("parseGoFlags", () => {
  it("takes what an importer pod is started with", () => {
    const none = { verbosity: 0, explain: false, help: false };
    assert.deepEqual(parseGoFlags([]), none);
    assert.deepEqual(parseGoFlags(["-alsologtostderr", "-v=3"]), { ...none, verbosity: 3 });
    assert.deepEqual(parseGoFlags(["--v", "2", "-v=5"]), { ...none, verbosity: 5 });
    assert.deepEqual(parseGoFlags(["-logtostderr=true", "-stderrthreshold=INFO", "-vmodule=a=1"]), none);
    assert.deepEqual(parseGoFlags(["--explain", "-h"]), { ...none, explain: true, help: true });
    assert.deepEqual(parseGoFlags(["-explain=false"]), none);
  });

  it("refuses what it does not know, and verbosities that are none", () => {
    const rows: readonly (readonly [args: readonly string[], text: RegExp])[] = [
      [["-fancy"], /^flag provided but not defined: -fancy$/],
      [["--"], /not defined/],
      [["image.qcow2"], /not defined: image.qcow2/],
      [["-v"], /^flag needs an argument: -v$/],
      [["-v=many"], /^-v=many is no verbosity/],
      [["-v=-1"], /no verbosity/],
    ];
    for (const [args, text] of rows) {
      assert.throws(
        () => parseGoFlags(args),
        (error) => error instanceof UsageError && text.test(error.message),
        args.join(" "),
      );
    }
  });
});
