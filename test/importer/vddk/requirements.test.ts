import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { UsageError } from "../../../importer/errors.ts";
import { requireVddk, vddkPlaces } from "../../../importer/vddk/requirements.ts";
import type { VddkPlaces } from "../../../importer/vddk/requirements.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const skip = requireTools("nbdkit");

/** Places in a folder; none of them there. */
function placesIn(folder: string): VddkPlaces {
  return {
    library: path.join(folder, "library"),
    testPlugin: path.join(folder, "test-plugin.so"),
    configFile: path.join(folder, "config"),
  };
}

/** A stand-in of nbdkit whose plugins and filters are the files of that folder. */
function fakeNbdkit(folder: string, ...files: string[]): void {
  for (const file of files) fs.writeFileSync(path.join(folder, file), "");
  const answer = `printf 'binary=x\\nplugindir=${folder}\\nfilterdir=${folder}\\n'`;
  fs.writeFileSync(path.join(folder, "nbdkit"), `#!/bin/sh\n${answer}\n`, { mode: 0o755 });
}

function fails(message: string | RegExp, remedy: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof UsageError, String(error));
    if (typeof message === "string") assert.equal(error.message, message);
    else assert.match(error.message, message);
    assert.match(error.remedy ?? "", remedy);
    return true;
  };
}

describe("requireVddk", () => {
  it("names other architectures", async () => {
    for (const arch of ["arm64", "s390x"]) {
      await assert.rejects(requireVddk(arch), fails(`the ${arch} architecture does not support VDDK`, /amd64 only/));
    }
  });

  it("names all that is missing at once", async () => {
    await withTemporaryFolder(async (folder) => {
      const needs = "VMware disks need what is not here";
      const ask = async (searchPath: string) => await requireVddk("x64", searchPath, placesIn(folder));
      const library = `VMware's library under ${path.join(folder, "library")}`;
      await assert.rejects(ask("/nowhere"), fails(`${needs}: the program nbdkit, ${library}`, /vddk-init-image/));
      fakeNbdkit(folder, "nbdkit-retry-filter.so");
      await assert.rejects(
        ask(`relative:${folder}`),
        fails(`${needs}: nbdkit's filter cacheextents, nbdkit's plugin vddk, ${library}`, /vddk-init-image/),
      );
      fs.mkdirSync(path.join(folder, "library", "lib64"), { recursive: true });
      fakeNbdkit(folder, "nbdkit-cacheextents-filter.so", "nbdkit-vddk-plugin.so");
      await assert.rejects(ask(folder), fails(`${needs}: ${library}`, /vddk-init-image/));
      fs.writeFileSync(path.join(folder, "library", "lib64", "libvixDiskLib.so.8.0.2"), "");
      assert.deepEqual(await ask(folder), { program: path.join(folder, "nbdkit"), plugin: "vddk" });
      fs.writeFileSync(path.join(folder, "nbdkit"), "#!/bin/sh\nexit 1\n");
      await assert.rejects(ask(folder), fails(`${needs}: an nbdkit that starts`, /nbdkit/));
    });
  });

  it("takes a plugin for tests without VMware's library", { skip }, async () => {
    await withTemporaryFolder(async (folder) => {
      const places = placesIn(folder);
      const searchPath = process.env["PATH"];
      await assert.rejects(requireVddk("x64", searchPath, places), fails(/plugin vddk, VMware's library/, /nbdkit/));
      fs.writeFileSync(places.testPlugin, "");
      assert.equal((await requireVddk("x64", searchPath, places)).plugin, places.testPlugin);
    });
  });

  it("looks where the contract says", () => {
    assert.deepEqual(Object.values(vddkPlaces), [
      "/opt/vmware-vix-disklib-distrib",
      "/opt/testing/libvddk-test-plugin.so",
      "/vddk-args/vddk-config-file",
    ]);
  });
});
