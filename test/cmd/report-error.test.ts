import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CommandIo } from "../../cmd/command-io.ts";
import { report } from "../../cmd/report-error.ts";
import { FormatError } from "../../formats/errors.ts";
import { Interrupted, TargetError } from "../../importer/errors.ts";

function reported(error: unknown, json: boolean): { status: number; stdout: string; stderr: string } {
  const written = { stdout: "", stderr: "" };
  const output = (name: "stdout" | "stderr") => ({
    write: (text: string) => void (written[name] += text),
    isTTY: false,
    columns: 80,
  });
  const io = { stdout: output("stdout"), stderr: output("stderr") } as unknown as CommandIo;
  return { status: report(error, io, json), ...written };
}

describe("report", () => {
  const refused = new FormatError("FORMAT_UNSUPPORTED", "it has a backing file", { remedy: "Flatten it." });

  it("tells a person in one line, with the code", () => {
    assert.deepEqual(reported(refused, false), {
      status: 3,
      stdout: "",
      stderr: "decant: it has a backing file. Flatten it. [FORMAT_UNSUPPORTED]\n",
    });
    assert.equal(reported(new Interrupted(), false).status, 130);
  });

  it("tells a program in one object on its standard output", () => {
    const full = new TargetError("TARGET_NO_SPACE", "no space", { cause: new Error("ENOSPC") });
    const { status, stdout, stderr } = reported(full, true);
    assert.deepEqual(JSON.parse(stdout), {
      error: { code: "TARGET_NO_SPACE", message: "no space: ENOSPC", retry: "transient" },
    });
    assert.deepEqual([status, stderr, stdout.endsWith("}\n")], [4, "", true]);
  });

  it("asks for a report of what is a bug, with its stack", () => {
    for (const json of [false, true]) {
      const { status, stderr } = reported(new TypeError("x is undefined"), json);
      assert.equal(status, 70);
      assert.match(stderr, /bug in decant.*\nTypeError: x is undefined\n {4}at /s);
    }
  });
});
