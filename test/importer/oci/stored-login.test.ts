import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import { parseImageReference } from "../../../importer/oci/reference.ts";
import { storedLogin } from "../../../importer/oci/stored-login.ts";
import type { RegistryLogin } from "../../../importer/oci/token-auth.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";

type Environment = Readonly<Record<string, string>>;

async function find(env: Environment): Promise<RegistryLogin | undefined> {
  const reference = parseImageReference("docker://quay.io/team/image");
  assert.ok(reference.kind === "registry");
  return await storedLogin(reference, env);
}

function write(file: string, config: unknown): string {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, typeof config === "string" ? config : JSON.stringify(config));
  return file;
}

const login = (user: string): object => ({ auths: { "quay.io": { username: user, password: "1" } } });

async function user(env: Environment): Promise<string | undefined> {
  const found = await find(env);
  return found?.kind === "password" ? found.user : found?.kind;
}

/** A credential helper on a PATH of its own; the usual folders behind it. */
function helper(folder: string, script: string): string {
  const bin = path.join(folder, "bin");
  write(path.join(bin, "docker-credential-test"), `#!/bin/sh\n${script}\n`);
  fs.chmodSync(path.join(bin, "docker-credential-test"), 0o755);
  return `${bin}:/usr/bin:/bin`;
}

async function denied(env: Environment, message: RegExp): Promise<void> {
  await assert.rejects(find(env), (error) => {
    assert.ok(error instanceof SourceError && error.code === "SOURCE_DENIED", String(error));
    assert.match(error.message, message);
    assert.ok(!`${error.message}${error.remedy ?? ""}`.includes("hunter2"));
    return true;
  });
}

describe("storedLogin", () => {
  it("asks podman's files before docker's, and a named one alone", async () => {
    await withTemporaryFolder(async (folder) => {
      const env: Environment = { HOME: path.join(folder, "home"), XDG_RUNTIME_DIR: path.join(folder, "run") };
      assert.equal(await user(env), undefined);
      assert.equal(await user({}), undefined);
      write(path.join(folder, "home/.docker/config.json"), login("docker"));
      assert.equal(await user(env), "docker");
      write(path.join(folder, "home/.config/containers/auth.json"), login("config"));
      assert.equal(await user(env), "config");
      write(path.join(folder, "run/containers/auth.json"), login("podman"));
      assert.equal(await user(env), "podman");
      write(path.join(folder, "run/containers/auth.json"), { auths: { "other.io": {} } });
      assert.equal(await user(env), "config");
      write(path.join(folder, "elsewhere/config.json"), login("elsewhere"));
      assert.equal(await user({ DOCKER_CONFIG: path.join(folder, "elsewhere") }), "elsewhere");
      const named = write(path.join(folder, "named.json"), { auths: {} });
      assert.equal(await user({ ...env, REGISTRY_AUTH_FILE: named }), undefined);
    });
  });

  it("runs credential helpers as docker does", async () => {
    await withTemporaryFolder(async (folder) => {
      const REGISTRY_AUTH_FILE = write(path.join(folder, "auth.json"), { credsStore: "test" });
      const script = `test "$1" = get || exit 1; read -r server; echo "{\\"Username\\":\\"$server\\",\\"Secret\\":\\"hunter2\\"}"`;
      assert.deepEqual(await find({ REGISTRY_AUTH_FILE, PATH: helper(folder, script) }), {
        kind: "password",
        user: "quay.io",
        password: "hunter2",
      });
      const none = helper(folder, `echo "credentials not found in native keychain"; exit 1`);
      assert.equal(await find({ REGISTRY_AUTH_FILE, PATH: none }), undefined);
    });
  });

  it("says which helper failed, and nothing of what it printed", async () => {
    await withTemporaryFolder(async (folder) => {
      const REGISTRY_AUTH_FILE = write(path.join(folder, "auth.json"), { credHelpers: { "quay.io": "test" } });
      await denied(
        { REGISTRY_AUTH_FILE, PATH: helper(folder, "echo hunter2; exit 3") },
        /docker-credential-test .*\(3\)/,
      );
      await denied({ REGISTRY_AUTH_FILE, PATH: helper(folder, "echo hunter2") }, /docker-credential-test is not JSON/);
      await denied({ REGISTRY_AUTH_FILE, PATH: helper(folder, "yes hunter2") }, /docker-credential-test/);
      await denied({ REGISTRY_AUTH_FILE, PATH: folder }, /docker-credential-test .*\(ENOENT\)/);
      write(REGISTRY_AUTH_FILE, { credsStore: "../../bin/sh" });
      await denied({ REGISTRY_AUTH_FILE, PATH: folder }, /a name that no program has/);
    });
  });

  it("says which file is damaged, and nothing of what is in it", async () => {
    await withTemporaryFolder(async (folder) => {
      await denied({ REGISTRY_AUTH_FILE: write(path.join(folder, "a"), "hunter2") }, /a is not JSON/);
      await denied({ REGISTRY_AUTH_FILE: folder }, /cannot be read \(EISDIR\)/);
      const long = write(path.join(folder, "b"), " ".repeat(1024 * 1024 + 1));
      await denied({ REGISTRY_AUTH_FILE: long }, /cannot be read \(too long\)/);
    });
  });
});
