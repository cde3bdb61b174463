import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { Interrupted, SourceError } from "../../../importer/errors.ts";
import { NbdClient } from "../../../importer/nbd/nbd-client.ts";
import { NbdStream } from "../../../importer/nbd/nbd-stream.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { readAll } from "../../support/http-client.ts";
import { withNbdServer } from "../../support/nbd-server.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const DISK = Buffer.concat([baseDisk(8 * 1024 * 1024), Buffer.alloc(5 * 1024 * 1024), Buffer.alloc(512, 7)]);

async function withStream<T>(
  command: readonly string[],
  use: (stream: NbdStream, client: NbdClient, folder: string) => Promise<T>,
): Promise<T> {
  return await withTemporaryFolder(async (folder) => {
    const file = path.join(folder, "disk.raw");
    fs.writeFileSync(file, DISK);
    const named = command.map((word) => word.replace("DISK", file).replace("FOLDER", folder));
    return await withNbdServer(folder, named, async (socket) => {
      const client = await NbdClient.connect(socket, 5000, new AbortController().signal);
      const stream = new NbdStream(client);
      try {
        return await use(stream, client, folder);
      } finally {
        stream.close();
        client.close();
      }
    });
  });
}

/** How many times nbdkit's log filter saw a command. */
function logged(folder: string, command: RegExp): number {
  return fs
    .readFileSync(path.join(folder, "log"), "utf8")
    .split("\n")
    .filter((line) => command.test(line)).length;
}

describe("NbdStream", { skip: requireTools("nbdkit", "qemu-nbd") }, () => {
  const servers = {
    nbdkit: ["nbdkit", "file", "DISK"],
    "nbdkit without structured replies": ["nbdkit", "--no-sr", "file", "DISK"],
    "nbdkit without extents": ["nbdkit", "--filter=noextents", "file", "DISK"],
    "qemu-nbd": ["qemu-nbd", "-r", "-t", "-f", "raw", "DISK"],
  };
  for (const [name, command] of Object.entries(servers)) {
    it(`reads a disk of ${name}`, async () => {
      await withStream(command, async (stream, client) => {
        assert.equal(client.size, DISK.length);
        assert.ok((await readAll(stream)).equals(DISK));
        assert.equal(await stream.read(new Uint8Array(9)), 0);
      });
    });
  }

  it("reads no zeros, and asks for extents piece by piece", async () => {
    await withStream(
      [
        "nbdkit",
        "--filter=log",
        "eval",
        "get_size=echo 2G",
        "can_extents=exit 0",
        "extents=echo 0 2G hole,zero",
        "pread=exit 1",
        "logfile=FOLDER/log",
      ],
      async (stream, client, folder) => {
        assert.equal(client.size, 2 * 1024 ** 3);
        const into = new Uint8Array(8 * 1024 * 1024).fill(7);
        let total = 0;
        for (let count = -1; count !== 0; total += count) count = await stream.read(into);
        assert.equal(total, client.size);
        assert.ok(into.every((byte) => byte === 0));
        assert.equal(logged(folder, / Read id=/), 0);
        assert.ok(logged(folder, /Extents id/) <= 2);
      },
    );
  });

  it("passes on what the server cannot read", async () => {
    await withStream(
      ["nbdkit", "--filter=error", "file", "DISK", "error-pread=EIO", "error-pread-rate=100%"],
      async (stream) => {
        await assert.rejects(readAll(stream), (error) => {
          assert.ok(error instanceof SourceError);
          assert.equal(error.code, "SOURCE_UNAVAILABLE");
          assert.match(error.message, /cannot read at 0: error 5$/);
          return true;
        });
      },
    );
  });

  it("ends a read that waits when client and stream are closed", async () => {
    await withStream(["nbdkit", "--filter=delay", "file", "DISK", "delay-read=60"], async (stream, client) => {
      const waiting = stream.read(new Uint8Array(9));
      setTimeout(() => {
        stream.close();
        client.close();
      }, 50);
      await assert.rejects(waiting, Interrupted);
    });
  });
});
