import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { describeSource } from "../../suites/source.ts";
import { withFolder } from "../../support/loop-device.ts";
import type { SourceFacts } from "../../support/source-facts.ts";

const SCRIPT = path.join(import.meta.dirname, "..", "..", "support", "print-source.ts");

/** The facts of `-` in a process whose standard input is `stdin`, after `feed` wrote to it. */
async function factsOf(stdin: "pipe" | number, bytes?: Buffer): Promise<SourceFacts> {
  const child = spawn(process.execPath, [SCRIPT, "-"], { stdio: [stdin, "pipe", "inherit"] });
  child.stdin?.end(bytes);
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const [status] = (await once(child, "close")) as [number];
  assert.equal(status, 0);
  return JSON.parse(text) as SourceFacts;
}

describeSource("standard input", { passesOnce: true, facts: async (bytes) => await factsOf("pipe", bytes) });

describe("standard input", () => {
  it("may be a file, and is read from where it stands", async () => {
    await withFolder(async (folder) => {
      const file = path.join(folder, "image");
      fs.writeFileSync(file, "0123456789");
      const fd = fs.openSync(file, "r");
      fs.readSync(fd, Buffer.alloc(4));
      const facts = await factsOf(fd);
      fs.closeSync(fd);
      assert.deepEqual([facts.name, facts.length, facts.size], ["standard input", 6, null]);
    });
  });
});
