/**
 * What every command does with a wrong line: exit status 2 and one sentence, before it touches anything.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as compare from "../../cmd/compare.ts";
import * as controller from "../../cmd/controller.ts";
import * as convert from "../../cmd/convert.ts";
import * as doctor from "../../cmd/doctor.ts";
import * as inspect from "../../cmd/inspect.ts";
import * as map from "../../cmd/map.ts";
import { exitMeanings } from "../../importer/outcome.ts";
import { runCommand } from "../support/command-io.ts";

const commands = { compare, controller, convert, doctor, inspect, map };

const wrong: readonly [command: keyof typeof commands, args: readonly string[], sentence: RegExp][] = [
  ["convert", [], /missing required argument 'source'/],
  ["convert", ["a"], /missing required argument 'target'/],
  ["convert", ["a", "b", "c"], /too many arguments/],
  ["convert", ["--frobnicate", "a", "b"], /unknown option '--frobnicate'/],
  ["convert", ["--size", "a", "b"], /missing required argument|not a quantity/],
  ["convert", ["--size", "big", "a", "b"], /"big" is not a quantity of bytes/],
  ["convert", ["--threads", "0", "a", "b"], /whole number from 1 to 64/],
  ["convert", ["--threads", "1.5", "a", "b"], /whole number from 1 to 64/],
  ["convert", ["--format", "qcow3", "a", "b"], /Allowed choices are .*qcow2/],
  ["convert", ["--preallocate", "some", "a", "b"], /Allowed choices are off, falloc, full/],
  ["convert", ["--progress", "loud", "a", "b"], /Allowed choices/],
  ["convert", ["--checksum", "crc:1", "a", "b"], /md5\|sha1\|sha256\|sha512/],
  ["convert", ["ftp://example.org/a", "b"], /ftp:\/\/ are not supported/],
  ["inspect", [], /missing required argument 'source'/],
  ["inspect", ["--nope", "a"], /unknown option '--nope'/],
  ["map", [], /missing required argument 'source'/],
  ["map", ["--json", "--svg", "x.svg", "a"], /one of --json and --svg/],
  ["compare", ["a"], /missing required argument 'b'/],
  ["compare", ["--loose", "a", "b"], /unknown option '--loose'/],
  ["controller", [], /which image workers are started from is missing/],
  ["controller", ["--worker-image", "a", "--max-imports", "many"], /whole number from 0 to 1000000, not "many"/],
  ["controller", ["--worker-image", "a", "--metrics-port", "65536"], /whole number from 0 to 65535/],
  ["controller", ["here"], /too many arguments/],
  ["doctor", ["a", "b"], /too many arguments/],
];

describe("the command line", () => {
  for (const [name, args, sentence] of wrong) {
    it(`refuses decant ${[name, ...args].join(" ")}`, async () => {
      const { status, stdout, stderr } = await runCommand(commands[name], args);
      assert.equal(status, 2);
      if (args.includes("--json")) {
        assert.match((JSON.parse(stdout) as { error: { message: string } }).error.message, sentence);
        return;
      }
      assert.equal(stdout, "");
      assert.match(stderr, sentence);
      assert.match(stderr, /^decant: .* \[USAGE\]\n$/);
      assert.ok(!stderr.includes("error: "), "commander's own prefix");
    });
  }

  for (const [name, command] of Object.entries(commands)) {
    it(`shows the help of ${name}, with its exit codes`, async () => {
      for (const flag of ["--help", "-h"]) {
        const { status, stdout, stderr } = await runCommand(command, [flag]);
        assert.deepEqual([status, stderr], [0, ""]);
        assert.ok(stdout.startsWith(`Usage: decant ${name} `), stdout.slice(0, 60));
        assert.match(stdout, /Exit codes:/);
        if (name === "compare" || name === "controller") continue; // have their own
        for (const [exit, meaning] of exitMeanings) assert.match(stdout, new RegExp(`^ +${exit} +${meaning}`, "m"));
      }
    });
  }
});
