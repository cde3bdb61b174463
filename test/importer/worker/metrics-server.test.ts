import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import net from "node:net";
import { describe, it } from "node:test";
import tls from "node:tls";
import { MAX_CONNECTIONS, METRICS_PORT, startMetricsServer } from "../../../importer/worker/metrics-server.ts";
import type { MetricsServerOptions } from "../../../importer/worker/metrics-server.ts";
import { progressLine } from "../../../importer/progress-metric.ts";

const OWNER = "1b0c3a1e-3b1f-4f1e-9d6e-000000000001";

/** What the controller looks for, as it looks for it. */
const CONTROLLERS_MATCH = new RegExp(`kubevirt_cdi_import_progress_total\\{ownerUID="${OWNER}"\\} (\\d{1,3}\\.?\\d*)`);

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly text: string;
  readonly certificate: tls.PeerCertificate;
}

async function ask(port: number, path = "/metrics", method = "GET"): Promise<Answer> {
  const request = https.request({ port, host: "127.0.0.1", path, method, rejectUnauthorized: false, agent: false });
  request.end(method === "POST" ? "a body" : undefined);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const certificate = (response.socket as tls.TLSSocket).getPeerCertificate();
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString();
  return { status: response.statusCode, type: response.headers["content-type"], text, certificate };
}

async function withServer(options: Partial<MetricsServerOptions>, use: (port: number) => Promise<void>): Promise<void> {
  const server = await startMetricsServer({
    port: 0,
    ownerUid: OWNER,
    progress: () => ({ done: 0, total: undefined }),
    ...options,
  });
  try {
    await use(server.port);
  } finally {
    await server.close();
  }
}

describe("metrics server", () => {
  it("shows the progress as the controller reads it, and never less than before", async () => {
    const samples = [
      { done: 0, total: 3_000_000 },
      { done: 1, total: 3_000_000 },
      { done: 1_000_000, total: 3_000_000 },
      { done: 0, total: undefined },
      { done: 500_000, total: 3_000_000 },
      { done: 2_999_999, total: 3_000_000 },
      { done: 3_000_000, total: 3_000_000 },
    ];
    const seen: string[] = [];
    let at = 0;
    await withServer({ progress: () => samples[at++] ?? { done: 0, total: 0 } }, async (port) => {
      for (let scrape = 0; scrape < samples.length; scrape++) {
        const { text } = await ask(port);
        const percent = CONTROLLERS_MATCH.exec(text)?.[1] ?? "none";
        assert.ok(text.split("\n").includes(progressLine(OWNER, Number(percent))), "the line has nothing else in it");
        seen.push(percent);
      }
    });
    assert.deepEqual(seen, ["0", "0", "33.33", "33.33", "33.33", "99.99", "100"]);
  });

  it("says that it is a counter, and what it means", async () => {
    await withServer({}, async (port) => {
      const { text, status, type } = await ask(port);
      assert.equal(status, 200);
      assert.match(type ?? "", /^text\/plain; version=0\.0\.4/);
      assert.match(text, /^# HELP kubevirt_cdi_import_progress_total The import progress in percentage$/m);
      assert.match(text, /^# TYPE kubevirt_cdi_import_progress_total counter$/m);
      assert.match(text, /^process_resident_memory_bytes \d+$/m);
    });
  });

  it("has no progress for nobody", async () => {
    await withServer({ ownerUid: undefined }, async (port) => {
      const { text } = await ask(port);
      assert.doesNotMatch(text, /kubevirt_cdi_import_progress_total/);
      assert.match(text, /^process_resident_memory_bytes/m);
    });
  });

  it("answers every path, HEAD without a page, and nothing but GET and HEAD", async () => {
    await withServer({}, async (port) => {
      for (const path of ["/", "/metrics", "/metrics?name=x", "/healthz/%00/../.."]) {
        assert.match((await ask(port, path)).text, CONTROLLERS_MATCH, path);
      }
      const head = await ask(port, "/metrics", "HEAD");
      assert.deepEqual([head.status, head.text], [200, ""]);
      for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
        assert.equal((await ask(port, "/metrics", method)).status, 405, method);
      }
    });
  });

  it("shows a certificate of its own for cloner_target, another one each time", async () => {
    const fingerprints: string[] = [];
    for (let run = 0; run < 2; run++) {
      await withServer({}, async (port) => {
        const { certificate } = await ask(port);
        assert.equal(certificate.subject.CN, "cloner_target");
        assert.equal(certificate.subjectaltname, "DNS:cloner_target");
        assert.equal(certificate.asn1Curve, "prime256v1");
        fingerprints.push(certificate.fingerprint256);
      });
    }
    assert.notEqual(fingerprints[0], fingerprints[1]);
  });

  it("tells its caller when the port is taken", async () => {
    await withServer({}, async (port) => {
      await assert.rejects(startMetricsServer({ port, ownerUid: OWNER, progress: () => ({ done: 0, total: 1 }) }), {
        code: "EADDRINUSE",
      });
    });
    assert.equal(METRICS_PORT, 8443);
  });

  it("answers while others keep connections open without a word, drops more of them, and closes with all", async () => {
    const open = new Set<net.Socket>();
    const connect = async (port: number): Promise<net.Socket> => {
      const socket = net.connect(port, "127.0.0.1").resume();
      socket.on("error", () => undefined);
      socket.on("close", () => open.delete(socket));
      await once(socket, "connect");
      open.add(socket);
      return socket;
    };
    await withServer({}, async (port) => {
      while (open.size < MAX_CONNECTIONS - 1) await connect(port);
      assert.match((await ask(port)).text, CONTROLLERS_MATCH);
      // Room for one at the most: the scrape's own connection may not be gone yet.
      const more = [await connect(port), await connect(port)];
      await Promise.race(more.map((socket) => once(socket, "close")));
      assert.ok(open.size >= MAX_CONNECTIONS - 1 && open.size <= MAX_CONNECTIONS);
    });
    await Promise.all([...open].map((socket) => once(socket, "close")));
  });

  it("answers nonsense with an error, and lives on", async () => {
    await withServer({}, async (port) => {
      const socket = tls.connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
      await once(socket, "secureConnect");
      socket.write("no request at all\r\n\r\n");
      const [answer] = (await once(socket, "data")) as [Buffer];
      assert.match(answer.toString(), /^HTTP\/1\.1 400 /);
      socket.destroy();
      const plain = net.connect(port, "127.0.0.1");
      plain.on("error", () => undefined);
      plain.write("GET /metrics HTTP/1.1\r\n\r\n");
      await once(plain, "close");
      assert.equal((await ask(port)).status, 200);
    });
  });
});
