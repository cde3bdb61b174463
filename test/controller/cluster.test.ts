import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { connect } from "../../controller/cluster.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

describe("connect", () => {
  it("reads server, namespace and token of the current context", async () => {
    await withKubeconfig({ token: "s3cret" }, async (file) => {
      const connection = await connect({ kubeconfig: file, env: {} });
      assert.equal(connection.server, "http://127.0.0.1:1");
      assert.equal(connection.namespace, "images");
      assert.equal((await connection.access()).headers["authorization"], "Bearer s3cret");
      connection.close();
    });
  });

  it("asks a plug-in for a token, and again only when it has to be a fresh one", async () => {
    await withTemporaryFolder(async (folder) => {
      const asked = path.join(folder, "asked");
      const plugin = path.join(folder, "plugin");
      const answer = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t'$n'"}}`;
      fs.writeFileSync(plugin, `#!/bin/sh\necho x >> ${asked}\nn=$(grep -c x ${asked})\necho '${answer}'\n`, {
        mode: 0o700,
      });
      const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin };
      await withKubeconfig({ exec }, async (file) => {
        const connection = await connect({ kubeconfig: file, env: {} });
        const token = async (fresh: boolean): Promise<string | undefined> => {
          return (await connection.access({ fresh })).headers["Authorization"];
        };
        assert.deepEqual([await token(false), await token(false)], ["Bearer t1", "Bearer t1"]);
        assert.equal(await token(true), "Bearer t2");
        connection.close();
      });
    });
  });

  for (const [what, config, expected] of [
    ["is no YAML map", "- a\n- b", /no kubeconfig|missing/],
    ["names a context that is not there", `{"current-context": "other", "contexts": []}`, /current context/],
  ] as const) {
    it(`refuses a file that ${what}`, async () => {
      await withTemporaryFolder(async (folder) => {
        const file = path.join(folder, "config");
        fs.writeFileSync(file, config);
        await assert.rejects(connect({ kubeconfig: file, env: {} }), expected);
      });
    });
  }

  it("says in one sentence that there is no cluster", async () => {
    await assert.rejects(connect({ kubeconfig: undefined, env: {} }), /^Error: there is no cluster: [^\n]+$/);
  });
});

async function withKubeconfig(user: object, use: (file: string) => Promise<void>): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const file = path.join(folder, "config");
    const config = {
      clusters: [{ name: "c", cluster: { server: "http://127.0.0.1:1/" } }],
      users: [{ name: "u", user }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "images" } }],
      "current-context": "x",
    };
    fs.writeFileSync(file, JSON.stringify(config));
    await use(file);
  });
}
