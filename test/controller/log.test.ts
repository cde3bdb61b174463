import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../../controller/api-error.ts";
import { openLog } from "../../controller/log.ts";
import { Refusal } from "../../controller/refusal.ts";

const TIME = "2026-09-01T12:00:00.000Z";

describe("the controller's log", () => {
  it("is an object a line, with details only for whoever asks for them", () => {
    for (const [verbosity, expected] of [
      [0, ["info", "warn", "error"]],
      [1, ["debug", "info", "warn", "error"]],
    ] as const) {
      const { log, lines } = open(verbosity);
      log.detail("planned", { unit: "config" });
      log.info("said");
      log.warn("said");
      log.error("said");
      assert.deepEqual(
        lines.map(({ level }) => level),
        expected,
      );
      assert.deepEqual(lines.at(-1), { level: "error", time: TIME, msg: "said" });
    }
  });

  it("shows what the API server said, what failed outside, and where a bug is", () => {
    const { log, lines } = open(0);
    const outside = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    for (const error of [
      new ApiError(403, "Forbidden", "no"),
      outside,
      new TypeError("bug"),
      new Error("bug"),
      new Refusal("another one works here"),
      "text",
    ]) {
      log.warn("failed", { unit: "config", error });
    }
    assert.deepEqual(
      lines.map(({ unit, status, reason, error, stack }) => [unit, status, reason, error, typeof stack]),
      [
        ["config", 403, "Forbidden", "no", "undefined"],
        ["config", undefined, undefined, "Error: connect ECONNREFUSED", "undefined"],
        ["config", undefined, undefined, "TypeError: bug", "string"],
        ["config", undefined, undefined, "Error: bug", "string"],
        ["config", undefined, undefined, "Error: another one works here", "undefined"],
        ["config", undefined, undefined, "text", "undefined"],
      ],
    );
  });
});

function open(verbosity: number) {
  const lines: Record<string, unknown>[] = [];
  const log = openLog({ verbosity, write: (line) => void lines.push(JSON.parse(line)), now: () => new Date(TIME) });
  return { log, lines };
}
