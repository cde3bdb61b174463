import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { SourceError, UsageError } from "../../../importer/errors.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import { openSource } from "../../../importer/sources/open-source.ts";
import { withFolder } from "../../support/loop-device.ts";

const options = { env: {}, http: defaultHttpOptions, formatNamed: false };

describe("openSource", () => {
  it("takes - for standard input, and any other name for a path", async () => {
    assert.equal((await openSource("-", options)).name, "standard input");
    await withFolder(async (folder) => {
      for (const name of ["image", "with:colon", "c://x", "--", "a b"]) {
        const file = path.join(folder, name);
        fs.mkdirSync(path.dirname(file), { recursive: true });
        fs.writeFileSync(file, name);
        const source = await openSource(file, options);
        assert.deepEqual([source.name, source.size], [file, name.length]);
        source.close();
      }
    });
    await assert.rejects(openSource("no such file", options), SourceError);
  });

  it("refuses a scheme that it does not know", async () => {
    for (const name of ["ftp://example.org/disk.raw", "FTP://example.org", "x+y.z-1://a"]) {
      await assert.rejects(
        openSource(name, options),
        (error) => error instanceof UsageError && /(ftp|x\+y\.z-1):\/\/ are not supported/.test(error.message),
      );
    }
  });
});
