import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { Interrupted, SourceError } from "../../../importer/errors.ts";
import { failureText } from "../../../importer/failure-text.ts";
import { errorCode, workerExit } from "../../../importer/outcome.ts";
import { endpointOfDisk, makeDoneFile, waitForReadyFile } from "../../../importer/worker/ready-file.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import { withClient, readAll } from "../../support/http-client.ts";
import { Place } from "../../../importer/http/place.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";

const NEVER = new AbortController().signal;
const ENDPOINT = "http://localhost:8100/disk.img";

/** Waits for nothing, and does `then` in the place of each second. */
function pace(then: (second: number) => void = () => undefined): {
  delays: number[];
  delay(ms: number): Promise<void>;
} {
  const delays: number[] = [];
  return {
    delays,
    delay: async (ms) => {
      delays.push(ms);
      await Promise.resolve();
      then(delays.length);
    },
  };
}

describe("ready file", () => {
  it("is waited for, a second at a time, and read when something is in it", async () => {
    await withTemporaryFolder(async (folder) => {
      const ready = path.join(folder, "ready");
      const seconds = pace((second) => {
        if (second === 3) fs.writeFileSync(ready, "");
        if (second === 5) fs.writeFileSync(ready, "fedora 40%.qcow2\n");
      });
      assert.equal((await waitForReadyFile(ready, seconds, NEVER)).toString(), "fedora 40%.qcow2\n");
      assert.deepEqual(seconds.delays, [1000, 1000, 1000, 1000, 1000]);
    });
  });

  it("is given up after a minute, in the contract's words, and a restart may help", async () => {
    await withTemporaryFolder(async (folder) => {
      const ready = path.join(folder, "ready");
      const seconds = pace();
      const error = await waitForReadyFile(ready, seconds, NEVER).catch((thrown: unknown) => thrown);
      const site = { stage: "choice", source: "http", contentType: "kubevirt", endpoint: ENDPOINT } as const;
      assert.equal(failureText(error, site), `Timeout waiting for file ${ready}`);
      assert.equal(seconds.delays.length, 59);
      assert.equal(workerExit(errorCode(error), false), 1);
      assert.equal(workerExit(errorCode(error), true), 1);
    });
  });

  it("is not waited for once the worker is told to stop", async () => {
    const stop = new AbortController();
    const waiting = waitForReadyFile(
      "/nowhere/ready",
      {
        delay: async (_, signal) => {
          stop.abort();
          await Promise.resolve();
          signal.throwIfAborted();
        },
      },
      stop.signal,
    );
    await assert.rejects(waiting, Interrupted);
  });

  it("is no link to a file of the worker, no pipe, no folder, and holds a name only", async () => {
    await withTemporaryFolder(async (folder) => {
      const secret = path.join(folder, "secret");
      fs.writeFileSync(secret, "password");
      const made: [string, (ready: string) => void][] = [
        ["link", (ready) => fs.symlinkSync(secret, ready)],
        ["pipe", (ready) => execFileSync("mkfifo", [ready])],
        ["folder", (ready) => fs.mkdirSync(ready)],
        ["long", (ready) => fs.writeFileSync(ready, "x".repeat(256))],
      ];
      for (const [name, make] of made) {
        const ready = path.join(folder, name);
        make(ready);
        await assert.rejects(waitForReadyFile(ready, pace(), NEVER), SourceError, name);
      }
      const longest = path.join(folder, "longest");
      fs.writeFileSync(longest, "x".repeat(255));
      assert.equal((await waitForReadyFile(longest, pace(), NEVER)).length, 255);
    });
  });
});

describe("endpointOfDisk", () => {
  const endpoint = (name: string | Buffer): string => endpointOfDisk(ENDPOINT, Buffer.from(name));

  it("puts the name in the place of disk.img, escaped", () => {
    assert.equal(endpoint("disk.img"), ENDPOINT);
    assert.equal(endpoint("my disk.qcow2"), "http://localhost:8100/my%20disk.qcow2");
    assert.equal(endpoint("50%.img"), "http://localhost:8100/50%25.img");
    assert.equal(endpoint("a?b#c"), "http://localhost:8100/a%3Fb%23c");
    assert.equal(endpoint("größe"), "http://localhost:8100/gr%C3%B6%C3%9Fe");
    assert.equal(endpoint(Buffer.of(0x61, 0xff)), "http://localhost:8100/a%FF");
    assert.equal(endpointOfDisk("http://localhost:8100/", Buffer.from("x")), "http://localhost:8100/x");
  });

  it("leads nowhere else, whatever the name", () => {
    for (const name of [
      "../info",
      "/etc/passwd",
      "//other.example/x",
      "@other.example",
      "\\x",
      "x\r\nHost: y",
      "%2e%2e",
    ]) {
      const url = new URL(endpoint(name));
      assert.equal(url.host, "localhost:8100", name);
      assert.equal(decodeURIComponent(url.pathname), `/${name}`);
      assert.equal(url.pathname.indexOf("/", 1), -1, name);
    }
    for (const name of [".", ".."]) assert.throws(() => endpoint(name), SourceError);
  });

  it("asks a real server for the name that is meant", async () => {
    await withServer({ bytes: Buffer.from("the disk") }, async ({ origin, requests }) => {
      await withClient({}, async (client) => {
        const url = endpointOfDisk(`${origin}/disk.img`, Buffer.from("50% of a?b#c.img"));
        const { body } = await client.get(Place.parse(url), { statuses: [200] });
        assert.equal((await readAll(body)).toString(), "the disk");
        assert.equal(requests[0]?.path, "/50%25%20of%20a%3Fb%23c.img");
      });
    });
  });
});

describe("done file", () => {
  it("is made once, and a failure is told and not thrown", async () => {
    await withTemporaryFolder(async (folder) => {
      const done = path.join(folder, "done");
      assert.equal(makeDoneFile(done), undefined);
      assert.equal(fs.readFileSync(done, "utf8"), "");
      assert.match(makeDoneFile(done)?.message ?? "", /EEXIST/);
      fs.writeFileSync(path.join(folder, "precious"), "content");
      fs.symlinkSync("precious", path.join(folder, "link"));
      assert.match(makeDoneFile(path.join(folder, "link"))?.message ?? "", /EEXIST/);
      assert.match(makeDoneFile(path.join(folder, "no", "done"))?.message ?? "", /ENOENT/);
    });
  });
});
