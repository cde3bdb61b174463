import assert from "node:assert/strict";
import https from "node:https";
import type { ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, it } from "node:test";
import { askProgress, Progress, progressIn, progressPageOf } from "../../controller/progress.ts";
import { makeAuthority } from "../support/certificates.ts";
import { pod } from "../support/observed-import.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const LINE = 'kubevirt_cdi_import_progress_total{ownerUID="uid"}';

describe("progressIn", () => {
  for (const [page, expected] of [
    [`${LINE} 0`, "0.00%"],
    [`# HELP x\n${LINE} 45.312\n`, "45.31%"],
    [`${LINE} 7.5\r`, "7.50%"],
    [`${LINE} 100`, undefined],
    [`${LINE} 100.5`, undefined],
    [`${LINE} 1e2`, undefined],
    [`${LINE} 1e308`, undefined],
    [`${LINE} Infinity`, undefined],
    [`${LINE} 0x10`, undefined],
    [`${LINE} 1.${"9".repeat(1000)}`, "2.00%"],
    [`${LINE} 99.999`, "100.00%"],
    [`${LINE} NaN`, undefined],
    [`${LINE} -1`, undefined],
    [`${LINE} 1234`, undefined],
    [`kubevirt_cdi_import_progress_total{ownerUID="other"} 5`, undefined],
    [`kubevirt_cdi_import_progress_total{ownerUID="uid",more="x"} 5`, undefined],
    ["", undefined],
  ] as const) {
    it(`${JSON.stringify(page)} is ${expected}`, () => assert.equal(progressIn(page, "uid"), expected));
  }
});

describe("progressPageOf", () => {
  const container = { name: "importer", image: "i", env: [{ name: "OWNER_UID", value: "uid" }] };
  it("is of a worker that runs and says whose it is", () => {
    const running = pod({ spec: { containers: [container] }, status: { phase: "Running", podIP: "10.0.0.1" } });
    assert.deepEqual(progressPageOf(running), { host: "10.0.0.1", port: 8443, ownerUid: "uid" });
    for (const other of [
      pod({ spec: { containers: [container] }, status: { phase: "Pending", podIP: "10.0.0.1" } }),
      pod({ spec: { containers: [container] }, status: { phase: "Running" } }),
      pod({ spec: { containers: [] }, status: { phase: "Running", podIP: "10.0.0.1" } }),
      undefined,
    ]) {
      assert.equal(progressPageOf(other), undefined);
    }
  });
});

describe("askProgress", () => {
  it("believes any certificate, and reads no more than a page", async () => {
    const certificate = await withTemporaryFolder(async (folder) => makeAuthority(folder).issue("DNS:elsewhere"));
    let body = `${LINE} 12.5\n`;
    const server = https.createServer(certificate, (_, response) => response.end(body));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const page = { host: "127.0.0.1", port: (server.address() as AddressInfo).port, ownerUid: "uid" };
    try {
      assert.equal(await askProgress(page), "12.50%");
      body = `${"x".repeat(1_000_000)}\n${body}`;
      assert.equal(await askProgress(page), undefined);
    } finally {
      server.closeAllConnections();
      server.close();
    }
    assert.equal(await askProgress(page), undefined, "nobody is there");
  });
});

describe("a metrics page of a stranger", () => {
  for (const [what, serve] of [
    [
      "sends a gigabyte",
      (response: ServerResponse) => {
        const piece = Buffer.alloc(64 * 1024, "x");
        const send = (): void => {
          let hasRoom = true;
          while (hasRoom && !response.destroyed) hasRoom = response.write(piece);
        };
        response.on("drain", send);
        send();
      },
    ],
    [
      "never ends",
      (response: ServerResponse) => {
        const timer = setInterval(() => response.write("#\n"), 20);
        response.on("close", () => clearInterval(timer));
      },
    ],
    ["never begins", () => undefined],
    ["sends elsewhere", (response: ServerResponse) => response.writeHead(302, { location: "/" }).end(`${LINE} 1\n`)],
  ] as const) {
    it(`${what}: it is left, and its connection closed`, async () => {
      const certificate = await withTemporaryFolder(async (folder) => makeAuthority(folder).issue("DNS:elsewhere"));
      const server = https.createServer(certificate, (_, response) => void serve(response));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const page = { host: "127.0.0.1", port: (server.address() as AddressInfo).port, ownerUid: "uid" };
      let received = 0;
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      server.on("connection", (socket: Socket) => {
        socket.on("close", () => {
          received += socket.bytesWritten;
          resolve();
        });
      });
      try {
        assert.equal(await askProgress(page), undefined);
        await closed;
        assert.ok(received < 16 * 1024 * 1024, `${received} bytes were sent`);
      } finally {
        server.closeAllConnections();
        server.close();
      }
    });
  }
});

describe("Progress", () => {
  it("tells what is new, and forgets who has ended", async () => {
    const told: string[] = [];
    let pages = new Map([["a", { host: "h", port: 1, ownerUid: "uid" }]]);
    let text: string | undefined = "1.00%";
    const ask = async (): Promise<string | undefined> => text;
    let time = 0;
    const progress = new Progress({ pages: () => pages, onProgress: (key) => told.push(key), ask, now: () => time });
    for (; time <= 10_000; time += 2000) await progress.askAll();
    text = undefined;
    await progress.askAll();
    assert.deepEqual([told, progress.of("a")], [["a"], "1.00%"]);
    pages = new Map();
    await progress.askAll();
    assert.equal(progress.of("a"), undefined);
  });

  it("asks a worker that moves less and less often, and one that stands still as before", async () => {
    const pages = new Map([["a", { host: "h", port: 1, ownerUid: "uid" }]]);
    const told: number[] = [];
    let time = 0;
    let isMoving = true;
    const ask = async (): Promise<string | undefined> => (isMoving ? `${(time / 10_000).toFixed(2)}%` : "1.00%");
    const onProgress = (): void => void told.push(time / 1000);
    const progress = new Progress({ pages: () => pages, onProgress, ask, now: () => time });
    for (; time <= 130_000; time += 2000) await progress.askAll();
    assert.deepEqual(told, [2, 6, 14, 30, 60, 90, 120]);
    isMoving = false;
    for (; time <= 300_000; time += 2000) await progress.askAll();
    assert.deepEqual(told.splice(0).slice(7), [150], "it says the same for a long time");
    isMoving = true;
    await progress.askAll();
    assert.deepEqual(told, [302], "it moves again");
    pages.clear();
    await progress.askAll();
    pages.set("a", { host: "h", port: 1, ownerUid: "uid" });
    for (time = 400_000; time <= 406_000; time += 2000) await progress.askAll();
    assert.deepEqual(told, [302, 402, 406], "the next worker is a new one");
  });
});
