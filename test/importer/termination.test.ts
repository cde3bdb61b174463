import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../formats/errors.ts";
import { Interrupted, SourceError, TargetError, UsageError } from "../../importer/errors.ts";
import type { FailureSite, Stage } from "../../importer/failure-text.ts";
import { blankEnding, encodeMessage, failureEnding, scratchEnding, successEnding } from "../../importer/termination.ts";
import type { Ending } from "../../importer/termination.ts";

const LIMIT = 4096;

function at(stage: Stage): FailureSite {
  return { stage, source: "http", contentType: "kubevirt", endpoint: "http://host/disk.img" };
}

function fail(error: unknown, stage: Stage, ownController = false, secrets: readonly string[] = []): Ending {
  return failureEnding(error, at(stage), { ownController, secrets });
}

const notFound = new SourceError("SOURCE_NOT_FOUND", "m", { context: { status: 404 } });
const mismatch = new SourceError("SOURCE_CHECKSUM", "m", {
  context: { algorithm: "md5", expected: "00", actual: "6c" },
});
const MISMATCH =
  "Unable to process data: Unable to transfer source data to scratch space: checksum validation failed: " +
  "checksum mismatch: expected md5:00, calculated md5:6c [SOURCE_CHECKSUM]";

describe("endings without an error", () => {
  const rows: readonly [name: string, ending: Ending, message: string | undefined][] = [
    [
      "import",
      successEnding({ preallocationApplied: false }),
      '{"scratchSpaceRequired":false,"preallocationApplied":false,"message":"Import Complete"}',
    ],
    [
      "import, reserved",
      successEnding({ preallocationApplied: true, labels: {} }),
      '{"scratchSpaceRequired":false,"preallocationApplied":true,"message":"Import Complete"}',
    ],
    [
      "import with all keys",
      successEnding({
        labels: { "kubevirt.io/a": "b", "kubevirt.io/c": "" },
        vddkInfo: { Version: "8.0.1", Host: "esx" },
        preallocationApplied: false,
      }),
      '{"scratchSpaceRequired":false,"preallocationApplied":false,"vddkInfo":{"Version":"8.0.1","Host":"esx"},' +
        '"labels":{"kubevirt.io/a":"b","kubevirt.io/c":""},"message":"Import Complete"}',
    ],
    [
      "scratch",
      scratchEnding(),
      '{"scratchSpaceRequired":true,"preallocationApplied":false,"message":"Import Complete"}',
    ],
    ["blank file", blankEnding("filesystem", false), '{"preallocationApplied":false,"message":"Import Complete"}'],
    [
      "blank file, reserved",
      blankEnding("filesystem", true),
      '{"preallocationApplied":true,"message":"Import Complete"}',
    ],
    ["blank device", blankEnding("block", false), undefined],
    ["blank device, filled", blankEnding("block", true), '{"preallocationApplied":true,"message":"Import Complete"}'],
  ];
  for (const [name, ending, message] of rows) {
    it(name, () => assert.deepEqual(ending, { exit: 0, message, droppedLabels: [] }));
  }
});

describe("failureEnding", () => {
  it("is plain text with the code at its end", () => {
    const message =
      "Unable to connect to http data source: expected status code 200, got 404. Status: 404 Not Found [SOURCE_NOT_FOUND]";
    assert.deepEqual(fail(notFound, "connect"), { exit: 1, message, droppedLabels: [] });
    assert.deepEqual(fail(notFound, "connect", true), { exit: 1, message, droppedLabels: [] });
  });

  it("is JSON and exit 0 for a wrong checksum", () => {
    assert.deepEqual(fail(mismatch, "Transfer"), {
      exit: 0,
      message: JSON.stringify({ message: MISMATCH }),
      droppedLabels: [],
    });
    assert.deepEqual(
      fail(mismatch, "Transfer", true).message,
      JSON.stringify({ message: MISMATCH, code: "SOURCE_CHECKSUM", terminal: true }),
    );
  });

  it("is JSON and exit 0 under our own controller where no restart helps", () => {
    const error = new FormatError("FORMAT_UNSUPPORTED", "it has a backing file");
    const text =
      "Unable to process data: Unable to convert source data to target format: it has a backing file [FORMAT_UNSUPPORTED]";
    assert.deepEqual(fail(error, "Info"), { exit: 1, message: text, droppedLabels: [] });
    assert.deepEqual(fail(error, "Info", true), {
      exit: 0,
      message: JSON.stringify({ message: text, code: "FORMAT_UNSUPPORTED", terminal: true }),
      droppedLabels: [],
    });
  });

  it("says nothing before the source is looked at, but to our own controller", () => {
    const error = new UsageError("PREALLOCATION is not set");
    assert.deepEqual(fail(error, "start-up"), { exit: 1, message: undefined, droppedLabels: [] });
    assert.equal(
      fail(error, "start-up", true).message,
      '{"message":"PREALLOCATION is not set [USAGE]","code":"USAGE","terminal":true}',
    );
    const denied = new TargetError("TARGET_DENIED", "no");
    assert.deepEqual(fail(denied, "start-up", true), { exit: 1, message: undefined, droppedLabels: [] });
  });

  it("says nothing when it was told to stop", () => {
    for (const own of [false, true]) {
      assert.deepEqual(fail(new Interrupted(), "Transfer", own), { exit: 143, message: undefined, droppedLabels: [] });
    }
  });

  it("is one line, and takes what is no error of ours", () => {
    const { exit, message } = fail(new Error("first\nsecond\r\nthird\rfourth"), "Complete");
    assert.deepEqual([exit, message], [1, "Unable to process data: first second third fourth [INTERNAL]"]);
  });

  it("cuts a text that is too long between two characters, never its code", () => {
    for (const letter of ["a", "ä", "語", "💾", '"', "\u0001"]) {
      for (const own of [false, true]) {
        const error = new FormatError("FORMAT_CORRUPT", letter.repeat(5000));
        const message = fail(error, "Info", own).message ?? "";
        const length = Buffer.byteLength(message);
        assert.ok(length <= LIMIT && length > LIMIT - 12, `${letter}: ${length}`);
        const text = own ? (JSON.parse(message) as { readonly message: string }).message : message;
        assert.match(text, /^Unable to process data: .*… \[FORMAT_CORRUPT\]$/);
        assert.doesNotMatch(text, /\ufffd/);
      }
    }
  });

  it("shows no secret, whatever an error says", () => {
    const secrets = ["hunter22", "hunter22-and-more", "", "abc", "$&$&"];
    const error = new Error("got http://u:hunter22-and-more@host: hunter22, $&$&, abc");
    for (const own of [false, true]) {
      assert.equal(
        fail(error, "Complete", own, secrets).message,
        "Unable to process data: got http://u:***@host: ***, ***, abc [INTERNAL]",
      );
    }
  });
});

describe("encodeMessage", () => {
  function labels(count: number, value: string): Record<string, string> {
    return Object.fromEntries(Array.from({ length: count }, (_, i) => [`kubevirt.io/label-${100 + i}`, value]));
  }

  it("drops labels from the end until it fits, and no more of them than that", () => {
    for (const count of [0, 1, 50, 60, 200]) {
      for (const value of ["x".repeat(40), "ü".repeat(20), '"\\'.repeat(10)]) {
        const given = labels(count, value);
        const { message, droppedLabels } = encodeMessage({
          preallocationApplied: true,
          labels: given,
          message: "done",
        });
        const read = JSON.parse(message) as { readonly labels?: Record<string, string>; readonly message: string };
        const kept = Object.keys(read.labels ?? {});
        assert.deepEqual([...kept, ...droppedLabels], Object.keys(given));
        assert.equal(read.message, "done");
        assert.ok(Buffer.byteLength(message) <= LIMIT);
        if (droppedLabels.length === 0) continue;
        const one = Buffer.byteLength(`,${JSON.stringify(droppedLabels[0])}:${JSON.stringify(value)}`);
        assert.ok(Buffer.byteLength(message) + one > LIMIT, "one more would have fitted");
      }
    }
  });

  it("fits to the byte", () => {
    const empty = Buffer.byteLength(encodeMessage({ labels: { k: "" }, message: "m" }).message);
    const exact = { k: "v".repeat(LIMIT - empty) };
    assert.equal(Buffer.byteLength(encodeMessage({ labels: exact, message: "m" }).message), LIMIT);
    assert.deepEqual(encodeMessage({ labels: { k: `${exact.k}v` }, message: "m" }), {
      message: '{"message":"m"}',
      droppedLabels: ["k"],
    });
    const alone = Buffer.byteLength(encodeMessage({ message: "m" }).message) - 1;
    const whole = "w".repeat(LIMIT - alone);
    assert.equal(encodeMessage({ message: whole }).message, JSON.stringify({ message: whole }));
    assert.equal(Buffer.byteLength(encodeMessage({ message: `${whole}w` }).message), LIMIT);
  });

  it("gives up all labels before it cuts the message", () => {
    const { message, droppedLabels } = encodeMessage({ labels: labels(2, "v"), message: "w".repeat(5000) }, " [C]");
    assert.equal(droppedLabels.length, 2);
    assert.match(message, /^\{"message":"w+… \[C\]"\}$/);
    assert.equal(Buffer.byteLength(message), LIMIT);
  });

  it("keeps the order of the contract and leaves out what is empty", () => {
    const all = encodeMessage({
      terminal: true,
      code: "USAGE",
      message: "m",
      labels: { a: "b" },
      vddkInfo: { Version: "1", Host: "h" },
      deadlinePassed: true,
      preallocationApplied: false,
      scratchSpaceRequired: false,
    });
    assert.deepEqual(Object.keys(JSON.parse(all.message) as object), [
      "scratchSpaceRequired",
      "preallocationApplied",
      "deadlinePassed",
      "vddkInfo",
      "labels",
      "message",
      "code",
      "terminal",
    ]);
    assert.equal(encodeMessage({ message: "" }).message, "{}");
  });
});
