/**
 * The options for sources in the network through the whole program: what they do, and that no secret of theirs is told.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import * as compare from "../../cmd/compare.ts";
import * as convert from "../../cmd/convert.ts";
import type { ConvertResult } from "../../cmd/convert.ts";
import * as inspect from "../../cmd/inspect.ts";
import type { Inspection } from "../../cmd/inspect.ts";
import * as map from "../../cmd/map.ts";
import { baseDisk } from "../support/base-disk.ts";
import { runCommand } from "../support/command-io.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { Misdeed } from "../support/misbehaving-server.ts";
import { runDecant } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

const SECRET = "hunter2";
const disk = baseDisk(1024 * 1024);

/** A folder with files of secrets, and the options that name them. */
async function withSecrets(use: (folder: string, options: readonly string[]) => Promise<void>): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const [headers, netrc] = ["headers", "netrc"].map((name) => path.join(folder, name)) as [string, string];
    fs.writeFileSync(headers, `# for the mirror\nX-Token: ${SECRET}\nCookie: id=${SECRET}\n`);
    fs.writeFileSync(netrc, `machine 127.0.0.1 login ${SECRET} password ${SECRET}\n`, { mode: 0o600 });
    await use(folder, ["--header-file", headers, "--netrc-file", netrc]);
  });
}

describe("options for sources in the network", () => {
  it("are those of every command that opens an image, in a group of their own", async () => {
    for (const command of [convert, inspect, map, compare]) {
      const { stdout } = await runCommand(command, ["--help"]);
      const group = stdout.split("\n\n").find((part) => part.startsWith("Options for sources in the network:"));
      const named = [...(group ?? "").matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name);
      assert.deepEqual(named, [
        "source",
        "region",
        "architecture",
        "cacert",
        "insecure",
        "header-file",
        "netrc-file",
        "limit-rate",
        "stall-timeout",
      ]);
    }
  });

  it("send headers and passwords with every command", async () => {
    await withSecrets(async (folder, options) => {
      const local = path.join(folder, "disk.raw");
      fs.writeFileSync(local, disk);
      const basic = `Basic ${Buffer.from(`${SECRET}:${SECRET}`).toString("base64")}`;
      await withServer({ bytes: disk, etag: '"v1"' }, async ({ origin, requests }) => {
        const url = `${origin}/disk.raw`;
        for (const [command, args] of [
          [convert, [url, "null:"]],
          [inspect, [url]],
          [map, ["--json", url]],
          [compare, [url, local]],
        ] as const) {
          const before = requests.length;
          const { status, stderr } = await runCommand(command, [...options, ...args]);
          assert.equal(status, 0, stderr);
          assert.ok(requests.length > before);
        }
        for (const { headers } of requests) {
          assert.deepEqual(
            [headers.authorization, headers["x-token"], headers.cookie],
            [basic, SECRET, `id=${SECRET}`],
          );
        }
      });
    });
  });

  it("go after the user info of the URL, and find the netrc of the environment and at home", async () => {
    await withTemporaryFolder(async (folder) => {
      const netrc = path.join(folder, ".netrc");
      fs.writeFileSync(netrc, `machine 127.0.0.1 login a password b\n`, { mode: 0o600 });
      await withServer({ bytes: disk }, async ({ origin, requests }) => {
        const asked = async (url: string, env: Readonly<Record<string, string>>): Promise<string | undefined> => {
          await runCommand(convert, [`${url}/disk`, "null:"], { env });
          const [, encoded = ""] = (requests.at(-1)?.headers.authorization ?? "").split(" ");
          return Buffer.from(encoded, "base64").toString();
        };
        assert.equal(await asked(origin, { HOME: folder }), "a:b");
        assert.equal(await asked(origin, { NETRC: netrc }), "a:b");
        assert.equal(await asked(origin, {}), "");
        assert.equal(await asked(origin.replace("//", "//c:d@"), { HOME: folder }), "c:d");
      });
    });
  });

  it("warn of passwords that others can read, and of a netrc that is none", async () => {
    await withTemporaryFolder(async (folder) => {
      const netrc = path.join(folder, "netrc");
      await withServer({ bytes: disk }, async ({ origin }) => {
        const warningsOf = async (text: string, mode: number): Promise<string[]> => {
          fs.writeFileSync(netrc, text);
          fs.chmodSync(netrc, mode);
          const args = ["--json", `${origin}/disk`, "null:"];
          const { status, stdout } = await runCommand(convert, args, { env: { NETRC: netrc } });
          assert.equal(status, 0);
          return (JSON.parse(stdout) as ConvertResult).warnings.map(({ code }) => code);
        };
        assert.deepEqual(await warningsOf("machine 127.0.0.1 login a password b", 0o644), ["NETRC_OPEN"]);
        assert.deepEqual(await warningsOf("machine 127.0.0.1 login a password b", 0o600), []);
        assert.deepEqual(await warningsOf("machine elsewhere login a password b", 0o644), []);
        assert.deepEqual(await warningsOf('machine 127.0.0.1 login a password "b', 0o600), ["NETRC_DAMAGED"]);
        const inspected = await runCommand(inspect, ["--json", `${origin}/disk`], { env: { NETRC: netrc } });
        assert.equal((JSON.parse(inspected.stdout) as Inspection).warnings[0]?.code, "NETRC_DAMAGED");
        const mapped = await runCommand(map, [`${origin}/disk`], { env: { NETRC: netrc } });
        assert.match(mapped.stderr, /^decant: warning: \S+ is no netrc file: line 1 .* \[NETRC_DAMAGED\]\n$/);
      });
    });
  });

  it("keep a pace: 3 MB at 10 MB a second are not there at once", async () => {
    await withServer({ bytes: gzipSync(baseDisk(3_000_000), { level: 0 }) }, async ({ origin }) => {
      const args = ["--json", "--limit-rate", "10M", `${origin}/disk`, "null:"];
      const { status, stdout } = await runCommand(convert, args);
      assert.equal(status, 0);
      assert.ok((JSON.parse(stdout) as ConvertResult).seconds >= 0.2);
    });
  });

  it("are refused where they cannot be meant", async () => {
    await withTemporaryFolder(async (folder) => {
      const bad = path.join(folder, "bad");
      fs.writeFileSync(bad, `Authorization Bearer ${SECRET}\n`);
      for (const [args, words] of [
        [["--header-file", bad], /line 1 of \S+bad is no header of the form "Name: value"/],
        [["--header-file", path.join(folder, "none")], /there is no file \S+none/],
        [["--netrc-file", path.join(folder, "none")], /there is no file \S+none/],
        [["--limit-rate", "0"], /at least one byte a second/],
        [["--limit-rate", "fast"], /is not a quantity of bytes/],
        [["--stall-timeout", "0"], /a number of seconds up to 86400/],
        [["--stall-timeout", "ten"], /a number of seconds up to 86400/],
        [["--source", "ftp"], /Allowed choices are http, s3, gcs, registry/],
      ] as const) {
        const { status, stderr } = await runCommand(convert, [...args, "http://127.0.0.1:9/disk", "null:"]);
        assert.equal(status, 2, stderr);
        assert.match(stderr, words);
        assert.ok(!stderr.includes(SECRET));
      }
    });
  });

  it("tell no secret, however it ends and however much is said", async () => {
    const misdeeds: readonly (Misdeed | undefined)[] = [
      undefined,
      { status: 401, headers: { "www-authenticate": `Basic realm="${SECRET}"` } },
      { status: 404, headers: { "x-echo": SECRET } },
      { status: 302, headers: { location: `/disk?other=${SECRET}` } },
      { headers: { etag: '"x"' }, bytes: Buffer.from(`<html>${SECRET}</html>`) },
    ];
    await withSecrets(async (folder, options) => {
      const env = {
        NODE_DEBUG: "", // whatever the machine has
        http_proxy: `http://${SECRET}:${SECRET}@127.0.0.1:9`,
        https_proxy: `http://${SECRET}:${SECRET}@127.0.0.1:9`,
        HOME: folder,
      };
      for (const misdeed of misdeeds) {
        await withServer({ bytes: disk, etag: '"v1"', misdeed: () => misdeed }, async ({ origin }) => {
          const url = `${origin.replace("//", `//${SECRET}:${SECRET}@`)}/disk?sig=${SECRET}#${SECRET}`;
          for (const verbosity of [["--progress", "plain"], ["--json"]]) {
            const args = [
              "convert",
              ...options,
              ...verbosity,

              url,
              path.join(folder, "disk.raw"),
              "--force",
            ];
            const { status, stdout, stderr } = await runDecant(args, { env });
            assert.ok(misdeed === undefined ? status === 0 : status !== 0 && status !== 70, stdout + stderr);
            assert.doesNotMatch(stdout + stderr, new RegExp(SECRET), stdout + stderr);
          }
        });
      }
    });
  });
});
