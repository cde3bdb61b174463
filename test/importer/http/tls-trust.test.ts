import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { readOwnCertificates, tlsOptions } from "../../../importer/http/tls-trust.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

describe("readOwnCertificates", { skip: requireTools("openssl") }, () => {
  it("takes every regular file, whatever its name, PEM or DER, through links, and none with a dot in front (N14)", async () => {
    await withTemporaryFolder(async (folder) => {
      const [one, two] = ["one", "two"].map((name) => {
        fs.mkdirSync(path.join(folder, name));
        return makeAuthority(path.join(folder, name), name).certificate;
      }) as [string, string];
      const trusted = path.join(folder, "trusted");
      // As a ConfigMap is mounted.
      fs.mkdirSync(path.join(trusted, "..data"), { recursive: true });
      fs.writeFileSync(path.join(trusted, "..data", "ca.pem"), one);
      fs.symlinkSync("..data/ca.pem", path.join(trusted, "ca.pem"));
      fs.writeFileSync(path.join(trusted, "bundle"), `# two of them\n${one}\nand\n${two}`);
      fs.writeFileSync(path.join(trusted, "two.der"), new X509Certificate(two).raw);
      fs.writeFileSync(path.join(trusted, ".hidden"), "nothing");
      const { certificates, warnings } = readOwnCertificates({ folders: [trusted] });
      assert.deepEqual(
        certificates.map((pem) => new X509Certificate(pem).subject),
        ["CN=one", "CN=two", "CN=one", "CN=two"],
      );
      assert.deepEqual(warnings, []);
    });
  });

  it("takes single files too", async () => {
    await withTemporaryFolder(async (folder) => {
      const file = path.join(folder, "ca.pem");
      const { certificate } = makeAuthority(folder);
      const { certificates, warnings } = readOwnCertificates({ folders: [], files: [file, path.join(folder, "no")] });
      assert.deepEqual(certificates, [certificate]);
      assert.match(warnings.join("\n"), /^certificates in \S+\/no are left out: ENOENT[^\n]*$/);
    });
  });

  it("reports what it cannot use, and goes on", async () => {
    await withTemporaryFolder(async (folder) => {
      const { certificate } = makeAuthority(folder);
      const trusted = path.join(folder, "trusted");
      fs.mkdirSync(trusted);
      fs.writeFileSync(path.join(trusted, "damaged"), certificate.replace(/[A-Z]{3}/, "AAA").replace(/\n.{20}/, "\n"));
      fs.writeFileSync(path.join(trusted, "empty"), "");
      fs.symlinkSync("nowhere", path.join(trusted, "gone"));
      fs.writeFileSync(path.join(trusted, "good"), certificate);
      fs.writeFileSync(path.join(trusted, "huge"), "");
      fs.truncateSync(path.join(trusted, "huge"), 5 * 1024 * 1024);
      const { certificates, warnings } = readOwnCertificates({ folders: [trusted, path.join(folder, "missing")] });
      assert.equal(certificates.length, 1);
      const starts = ["gone", "damaged", "empty", "huge"].map(
        (name) => `certificates in ${path.join(trusted, name)} are left out: `,
      );
      starts.push(`certificates in ${path.join(folder, "missing")} are left out: ENOENT`);
      assert.equal(warnings.length, starts.length);
      for (const [i, start] of starts.entries()) assert.ok(warnings[i]?.startsWith(start), warnings[i]);
    });
  });

  it("reads nothing and verifies nothing when that is switched off", () => {
    assert.deepEqual(tlsOptions({ folders: ["/nowhere"], insecure: true }, []), { rejectUnauthorized: false });
  });
});
