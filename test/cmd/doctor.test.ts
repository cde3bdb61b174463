import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import * as doctor from "../../cmd/doctor.ts";
import { listDecoders } from "../../formats/codecs/system/inventory.ts";
import { runCommand } from "../support/command-io.ts";
import { withFolder, withLoopDevice } from "../support/loop-device.ts";
import { requireLoopDevices } from "../support/tools.ts";

describe("decant doctor", () => {
  it("names every decoder with what is in use", async () => {
    const { status, stdout } = await runCommand(doctor, []);
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`Node\\.js +${process.versions.node}`));
    for (const { job, library, version, fallback } of listDecoders()) {
      const row = stdout.split("\n").find((line) => line.trim().startsWith(job)) ?? "";
      assert.ok(
        row.includes(version === undefined ? `${fallback}; apt-get install ${library}` : `${library} (${version})`),
        row,
      );
    }
  });

  it("names the portable ones where the environment asks for them", async () => {
    const { stdout } = await runCommand(doctor, [], { env: { DECANT_DECODERS: "portable" } });
    assert.equal(stdout.split("DECANT_DECODERS=portable").length - 1, listDecoders().length);
    assert.ok(!stdout.includes("apt-get"));
  });

  it("names the proxies of the environment without their passwords, and the certificates", async () => {
    const env = {
      http_proxy: "http://me:hunter2@proxy.example:3128/hunter3",
      HTTPS_PROXY: "https://me:hunter2@proxy.example",
      no_proxy: "localhost,.example.org",
    };
    const { stdout } = await runCommand(doctor, [], { env });
    assert.match(stdout, /^ +proxy for http:\/\/ +http:\/\/proxy\.example:3128$/m);
    assert.match(stdout, /^ +proxy for https:\/\/ +https:\/\/proxy\.example$/m);
    assert.match(stdout, /^ +without a proxy \(no_proxy\) +localhost,\.example\.org$/m);
    assert.match(stdout, /^ +certificates +(\/|those that Node\.js)/m);
    const odd = await runCommand(doctor, [], { env: { https_proxy: "socks5://me:hunter2@proxy.example" } });
    assert.match(odd.stdout, /^ +proxy for http:\/\/ +none$/m);
    assert.match(odd.stdout, /^ +proxy for https:\/\/ +proxies of the kind socks5:\/\/ are not supported/m);
    assert.doesNotMatch(stdout + odd.stdout, /hunter/);
  });

  it("tries what a folder can do, and leaves nothing there", async () => {
    await withFolder(async (folder) => {
      for (const place of [folder, path.join(folder, "disk.raw")]) {
        if (place !== folder) fs.writeFileSync(place, "");
        const { status, stdout } = await runCommand(doctor, [place]);
        assert.equal(status, 0);
        assert.match(stdout, /free space +[\d.]+ [KMGT]iB/);
        assert.match(stdout, /sparse files +(yes|no)/);
        assert.match(stdout, /O_DIRECT +(yes|no)/);
      }
      assert.deepEqual(fs.readdirSync(folder), ["disk.raw"]);
    });
  });

  it("asks a device for its geometry, and reads nothing else", { skip: requireLoopDevices() }, async () => {
    for (const sectorSize of [512, 4096] as const) {
      await withLoopDevice({ size: 8 * 1024 * 1024, sectorSize }, async (device) => {
        const { status, stdout } = await runCommand(doctor, [device]);
        assert.equal(status, 0);
        assert.match(stdout, /size +8 MiB \(8388608 bytes\)/);
        assert.match(stdout, new RegExp(`sectors +${sectorSize} bytes`));
      });
    }
  });

  it("says that a place is not there", async () => {
    const { status, stdout, stderr } = await runCommand(doctor, ["/no/such/place"]);
    assert.deepEqual([status, stdout], [2, ""]);
    assert.match(stderr, /there is no \/no\/such\/place/);
  });
});
