import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { findNetrc, netrcAuth } from "../../cmd/netrc.ts";
import { UsageError } from "../../importer/errors.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

describe("netrcAuth", () => {
  const rows: readonly (readonly [what: string, text: string, auth: string | undefined])[] = [
    ["one line", "machine images.example login a password b", "a:b"],
    ["several lines", "machine images.example\n\tlogin a\r\n\tpassword b\n", "a:b"],
    ["a host in capitals, keywords too", "MACHINE Images.Example LOGIN a PASSWORD b", "a:b"],
    ["another host", "machine other.example login a password b", undefined],
    ["a host below it", "machine example login a password b", undefined],
    ["an entry without a password", "machine images.example login a\nmachine images.example login c password d", "c:d"],
    ["a password alone", "machine images.example password b", ":b"],
    ["the default", "machine other.example login a password b\ndefault login c password d", "c:d"],
    ["a machine before the default", "default login c password d machine images.example login a password b", "a:b"],
    ["quoted words", 'machine images.example login "a b" password "\\"\\\\\\t"', 'a b:"\\\t'],
    ["a password with #", "machine images.example login a password #b#", "a:#b#"],
    ["comments", "# machine images.example login c\nmachine images.example # x login c\nlogin a password b", "a:b"],
    [
      "a macro",
      "macdef init\nmachine images.example login c password d\n\nmachine images.example login a password b",
      "a:b",
    ],
    ["a macro that ends the file", "machine images.example login a password b macdef x\nlogin c", "a:b"],
    ["words of other programs", "machine images.example account x login a port 21 password b", "a:b"],
    ["words before any machine", "login c password d machine images.example login a password b", "a:b"],
    ["an empty file", "", undefined],
  ];
  for (const [what, text, wanted] of rows) {
    it(`reads ${what}`, () => {
      const auth = netrcAuth(text, "images.example");
      assert.equal(auth === undefined ? undefined : `${auth.user}:${auth.password}`, wanted);
    });
  }

  it("compares an IPv6 address without the URL's brackets", () => {
    assert.equal(netrcAuth("machine ::1 login a password b", "[::1]")?.password, "b");
  });

  it("names the line of what it cannot read, and no word of it", () => {
    const wrong: readonly (readonly [text: string, words: RegExp])[] = [
      ['machine images.example\nlogin a password "hunter2', /^line 2 begins a quoted word/],
      ["machine images.example login hunter2 password", /^line 1 ends where/],
    ];
    for (const [text, words] of wrong) {
      assert.throws(
        () => netrcAuth(text, "images.example"),
        (error) => error instanceof Error && words.test(error.message) && !error.message.includes("hunter"),
      );
    }
  });
});

describe("findNetrc", () => {
  it("takes the named file, else the environment's, else the one at home", async () => {
    await withTemporaryFolder(async (folder) => {
      await Promise.resolve();
      const [named, other] = ["named", "other"].map((name) => path.join(folder, name)) as [string, string];
      for (const file of [named, other, path.join(folder, ".netrc")]) fs.writeFileSync(file, path.basename(file));
      assert.equal(findNetrc(named, { NETRC: other, HOME: folder })?.text, "named");
      assert.equal(findNetrc(undefined, { NETRC: other, HOME: folder })?.text, "other");
      assert.equal(findNetrc(undefined, { HOME: folder })?.text, ".netrc");
      assert.equal(findNetrc(undefined, {}), undefined);
    });
  });

  it("misses only a named file", async () => {
    await withTemporaryFolder(async (folder) => {
      await Promise.resolve();
      const missing = path.join(folder, "missing");
      assert.equal(findNetrc(undefined, { NETRC: missing, HOME: missing }), undefined);
      assert.throws(() => findNetrc(missing, {}), UsageError);
      const huge = path.join(folder, "huge");
      fs.writeFileSync(huge, "");
      fs.truncateSync(huge, 2 ** 30);
      assert.throws(() => findNetrc(huge, {}), /has more than 262144 bytes/);
    });
  });
});
