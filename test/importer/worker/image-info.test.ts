import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import type { ImageLabels } from "../../../importer/labels.ts";
import { readImageLabels } from "../../../importer/worker/image-info.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import { withClient } from "../../support/http-client.ts";

/** What is made of an answer, and what was asked for. */
async function labelsOf(answer: string | Buffer, status?: number): Promise<ImageLabels & { readonly path: string }> {
  return await withServer(
    { bytes: Buffer.from(answer), misdeed: () => (status === undefined ? undefined : { status }) },
    async ({ origin, requests }) =>
      await withClient({}, async (client) => {
        const labels = await readImageLabels(`${origin}/folder/my%20disk.img?x=y`, client);
        return { ...labels, path: requests[0]?.path ?? "" };
      }),
  );
}

describe("image info", () => {
  it("asks the disk's server for /info, and makes labels of the environment", async () => {
    const env = ["PATH=/bin", "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=fedora", "KUBEVIRT_IO_TEST=x y"];
    assert.deepEqual(await labelsOf(JSON.stringify({ env })), {
      labels: { "instancetype.kubevirt.io/default-preference": "fedora" },
      refused: ["kubevirt.io/test"],
      path: "/info",
    });
  });

  it("makes nothing of what is no such answer", async () => {
    const hostile = [
      "",
      "null",
      "[]",
      "7",
      `"env"`,
      "{",
      `{"env":null}`,
      `{"env":{"length":4}}`,
      `{"env":[null,7,{"x":1},["KUBEVIRT_IO_A=b"]]}`,
      `{"__proto__":{"env":["KUBEVIRT_IO_A=b"]}}`,
      "[".repeat(100_000),
      Buffer.of(0xff, 0xfe, 0x00),
    ];
    for (const answer of hostile) {
      const { labels, refused } = await labelsOf(answer);
      assert.deepEqual({ labels, refused }, { labels: {}, refused: [] }, String(answer).slice(0, 40));
    }
  });

  it("reads no more than a bounded answer, and of it a bounded number of variables", async () => {
    await assert.rejects(labelsOf(Buffer.alloc(5 * 1024 * 1024, "x")), SourceError);
    const env = [...Array.from({ length: 5000 }, () => "A=b"), "KUBEVIRT_IO_LATE=x"];
    assert.deepEqual((await labelsOf(JSON.stringify({ env }))).labels, {});
  });

  it("fails where there is none, for its caller to log", async () => {
    await assert.rejects(labelsOf("nothing", 404), { code: "SOURCE_NOT_FOUND" });
  });
});
