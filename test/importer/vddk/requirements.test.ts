import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { missingForVddk, VDDK_LIBRARY } from "../../../importer/vddk/requirements.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

/** A stand-in of nbdkit whose plugins and filters are the files of that folder. */
function fakeNbdkit(folder: string, ...files: string[]): void {
  for (const file of files) fs.writeFileSync(path.join(folder, file), "");
  const answer = `printf 'binary=x\\nplugindir=${folder}\\nfilterdir=${folder}\\n'`;
  fs.writeFileSync(path.join(folder, "nbdkit"), `#!/bin/sh\n${answer}\n`, { mode: 0o755 });
}

describe("missingForVddk", () => {
  it("names all that is missing at once", async () => {
    await withTemporaryFolder(async (folder) => {
      const library = path.join(folder, "library");
      const needsLibrary = `VMware's library under ${library}`;
      const ask = async (searchPath: string) => await missingForVddk(searchPath, library);
      assert.deepEqual(await ask("/nowhere"), ["the program nbdkit", needsLibrary]);
      fakeNbdkit(folder, "nbdkit-retry-filter.so");
      const pieces = ["nbdkit's filter cacheextents", "nbdkit's plugin vddk"];
      assert.deepEqual(await ask(`relative:${folder}`), [...pieces, needsLibrary]);
      fs.mkdirSync(path.join(library, "lib64"), { recursive: true });
      fakeNbdkit(folder, "nbdkit-cacheextents-filter.so", "nbdkit-vddk-plugin.so");
      assert.deepEqual(await ask(folder), [needsLibrary]);
      fs.writeFileSync(path.join(library, "lib64", "libvixDiskLib.so.8.0.2"), "");
      assert.deepEqual(await ask(folder), []);
      fs.writeFileSync(path.join(folder, "nbdkit"), "#!/bin/sh\nexit 1\n");
      assert.deepEqual(await ask(folder), ["an nbdkit that starts"]);
    });
  });

  it("finds the filters of a real nbdkit", { skip: requireTools("nbdkit") }, async () => {
    const missing = await missingForVddk(process.env["PATH"], "/nowhere");
    assert.deepEqual(missing, ["nbdkit's plugin vddk", "VMware's library under /nowhere"]);
  });

  it("looks where the contract says", () => {
    assert.equal(VDDK_LIBRARY, "/opt/vmware-vix-disklib-distrib");
  });
});
