import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageError } from "../../../importer/errors.ts";
import { parseImageReference } from "../../../importer/oci/reference.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

function registry(text: string): unknown[] {
  const parsed = parseImageReference(text);
  assert.ok(parsed.kind === "registry");
  return [parsed.registry, parsed.host, parsed.repository, parsed.tag, parsed.digest?.text];
}

describe("parseImageReference", () => {
  it("knows Docker Hub's short names", () => {
    const hub = ["docker.io", "registry-1.docker.io"];
    assert.deepEqual(registry("docker://ubuntu"), [...hub, "library/ubuntu", "latest", undefined]);
    assert.deepEqual(registry("docker://ubuntu:24.04"), [...hub, "library/ubuntu", "24.04", undefined]);
    assert.deepEqual(registry("docker://docker.io/ubuntu"), [...hub, "library/ubuntu", "latest", undefined]);
    assert.deepEqual(registry("docker://team/image"), [...hub, "team/image", "latest", undefined]);
    assert.deepEqual(registry("docker://index.docker.io/team/image"), [...hub, "team/image", "latest", undefined]);
  });

  it("knows hosts, ports, tags and digests", () => {
    const cases: [string, string, string, string | undefined, string | undefined][] = [
      ["docker://quay.io/a/b/c:v1", "quay.io", "a/b/c", "v1", undefined],
      ["docker://localhost/a", "localhost", "a", "latest", undefined],
      ["docker://localhost:5000/a:1", "localhost:5000", "a", "1", undefined],
      ["docker://host:5000/a", "host:5000", "a", "latest", undefined],
      ["docker://[::1]:5000/a:x", "[::1]:5000", "a", "x", undefined],
      ["DOCKER://Host.Example/a", "Host.Example", "a", "latest", undefined],
      [`docker://quay.io/a@${DIGEST}`, "quay.io", "a", undefined, DIGEST],
      [`docker://quay.io/a:v1@${DIGEST}`, "quay.io", "a", undefined, DIGEST],
      ["https://quay.io/a:v1", "quay.io", "a", "v1", undefined],
    ];
    for (const [text, host, ...rest] of cases) assert.deepEqual(registry(text), [host, host, ...rest], text);
    assert.equal(parseImageReference(`docker://quay.io/a:v1@${DIGEST}`).name, `docker://quay.io/a@${DIGEST}`);
  });

  it("knows archives", () => {
    const archive = (text: string): unknown[] => {
      const parsed = parseImageReference(text);
      return parsed.kind === "archive" ? [parsed.path, parsed.tag, parsed.name] : [];
    };
    assert.deepEqual(archive("oci-archive:/a/b.tar"), ["/a/b.tar", undefined, "oci-archive:/a/b.tar"]);
    assert.deepEqual(archive("oci-archive:b.tar:v1"), ["b.tar", "v1", "oci-archive:b.tar:v1"]);
    assert.deepEqual(archive("oci-archive:b.tar:localhost:5000/x:v1").slice(0, 2), ["b.tar", "localhost:5000/x:v1"]);
    assert.deepEqual(archive("oci-archive:b.tar:").slice(0, 2), ["b.tar", undefined]);
  });

  it("refuses what cannot be one, and repeats no password", () => {
    const bad = [
      "docker://",
      "docker:///a",
      "docker://quay.io/",
      "docker://quay.io/A",
      "docker://quay.io/a//b",
      "docker://quay.io/../a",
      "docker://quay.io/a:",
      "docker://quay.io/a:-x",
      `docker://quay.io/a:${"t".repeat(129)}`,
      `docker://quay.io/${"a/".repeat(200)}b`,
      "docker://quay.io/a@sha256:12",
      `docker://quay.io/a@md5:${"0".repeat(32)}`,
      "docker://quay.io/a?x=secret",
      "docker://user:secret@quay.io/a",
      "docker://quay.io:port/a",
      "docker://ho st.x/a",
      "oci-archive:",
      "oci:/secret@a",
      "ftp://me:secret@host/a",
    ];
    for (const text of bad) {
      assert.throws(
        () => parseImageReference(text),
        (error) => error instanceof UsageError && !(error.message + (error.remedy ?? "")).includes("me:secret"),
        text,
      );
    }
    assert.throws(() => parseImageReference("oci:/a"), /^UsageError: Invalid image name "oci:\/a", unknown transport$/);
  });
});
