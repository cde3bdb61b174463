import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interrupted, SourceError, TargetError, toTargetError, UsageError } from "../../importer/errors.ts";
import { kernelError } from "../../importer/kernel.ts";

describe("toTargetError", () => {
  const rows: readonly [errno: string, code: string, message: RegExp][] = [
    ["ENOSPC", "TARGET_NO_SPACE", /: no space is left$/],
    ["EDQUOT", "TARGET_NO_SPACE", /: the quota is used up$/],
    ["EACCES", "TARGET_DENIED", /: permission is denied$/],
    ["EPERM", "TARGET_DENIED", /: the operation is not permitted$/],
    ["EROFS", "TARGET_DENIED", /: it is read-only$/],
    ["EFBIG", "TARGET_TOO_SMALL", /largest file of its filesystem$/],
    ["EBUSY", "TARGET_BUSY", /: it is in use$/],
    ["EIO", "TARGET_IO", /^cannot write 512 bytes to \/data\/disk\.raw \(EIO\)$/],
  ];
  for (const [errno, code, message] of rows) {
    it(`makes ${code} of ${errno}`, () => {
      const cause = kernelError(errno, "write");
      const error = toTargetError(cause, "write 512 bytes to", "/data/disk.raw");
      assert.equal(error.code, code);
      assert.match(error.message, message);
      assert.match(error.message, /^cannot write 512 bytes to \/data\/disk\.raw/);
      assert.equal(error.cause, cause);
      assert.deepEqual(error.context, { path: "/data/disk.raw", errno });
      assert.equal(error.remedy === undefined, code === "TARGET_IO");
    });
  }

  it("passes on what is a TargetError already, and takes anything else", () => {
    const known = new TargetError("TARGET_BUSY", "busy");
    assert.equal(toTargetError(known, "open", "x"), known);
    assert.equal(toTargetError(new TypeError("odd"), "open", "x").message, "cannot open x");
    assert.equal(toTargetError("odd", "open", "x").code, "TARGET_IO");
  });
});

describe("errors", () => {
  it("have one shape", () => {
    const details = { remedy: "Do.", context: { offset: 1 }, cause: new Error("below") };
    const errors = [
      new SourceError("SOURCE_TLS", "m", details),
      new TargetError("TARGET_IO", "m", details),
      new UsageError("m", details),
      new Interrupted("m", details),
    ];
    assert.deepEqual(
      errors.map(({ name, code }) => [name, code]),
      [
        ["SourceError", "SOURCE_TLS"],
        ["TargetError", "TARGET_IO"],
        ["UsageError", "USAGE"],
        ["Interrupted", "INTERRUPTED"],
      ],
    );
    for (const error of errors) {
      assert.equal(error.message, "m");
      assert.equal(error.cause, details.cause);
      assert.deepEqual(error.context, { offset: 1 });
    }
    assert.equal("cause" in new UsageError("m"), false);
  });
});
