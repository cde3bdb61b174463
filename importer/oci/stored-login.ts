/**
 * Finds the credentials that this machine's user has for a registry: in podman's file, then in docker's, where they lead to a
 * credential helper by asking it.
 * @see containers-auth.json(5) for the order; docker-credential-helpers for the protocol
 */
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { quoted } from "../../formats/archives/shown-names.ts";
import { FormatError } from "../../formats/errors.ts";
import { SourceError } from "../errors.ts";
import { findLogin, MAX_CONFIG_LENGTH, readHelperAnswer } from "./docker-config.ts";
import type { RegistryReference } from "./reference.ts";
import type { RegistryLogin } from "./token-auth.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A keychain may ask its user. */
const HELPER_TIMEOUT_MS = 60_000;

/** Characters of a helper's answer. */
const MAX_ANSWER_LENGTH = 64 * 1024;

/** Words of a helper that knows the registry not, which is no failure. */
const NOT_FOUND = /credentials not found|no credentials|not found in/i;

/**
 * Undefined: there are none, and one asks as anybody.
 * @throws SourceError SOURCE_DENIED for a file that cannot be read or a helper that fails
 */
export async function storedLogin(reference: RegistryReference, env: Environment): Promise<RegistryLogin | undefined> {
  for (const file of configFiles(env)) {
    const text = readConfig(file);
    if (text === undefined) continue;
    const finding = foundIn(text, reference, file);
    if (finding === undefined) continue;
    const login = "login" in finding ? finding.login : await askHelper(finding.helper, finding.server, env);
    if (login !== undefined) return login;
  }
  return undefined;
}

/** In the order in which they count. A file that was named is the only one. */
function configFiles(env: Environment): string[] {
  const named = env["REGISTRY_AUTH_FILE"] ?? "";
  if (named !== "") return [named];
  const home = env["HOME"] ?? "";
  const folders: readonly (readonly [folder: string | undefined, file: string])[] = [
    [env["XDG_RUNTIME_DIR"], "containers/auth.json"],
    [env["XDG_CONFIG_HOME"] ?? (home === "" ? undefined : `${home}/.config`), "containers/auth.json"],
    [env["DOCKER_CONFIG"] ?? (home === "" ? undefined : `${home}/.docker`), "config.json"],
  ];
  return folders.flatMap(([folder, file]) => (folder === undefined || folder === "" ? [] : [path.join(folder, file)]));
}

/** Undefined: there is no such file. */
function readConfig(file: string): string | undefined {
  try {
    const { size } = fs.statSync(file);
    if (size > MAX_CONFIG_LENGTH) throw new Error("too long");
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new SourceError("SOURCE_DENIED", `the credentials in ${file} cannot be read (${code ?? "too long"})`);
  }
}

function foundIn(text: string, reference: RegistryReference, file: string): ReturnType<typeof findLogin> {
  try {
    return findLogin(text, reference, file);
  } catch (error) {
    if (error instanceof FormatError) throw new SourceError("SOURCE_DENIED", error.message);
    throw error;
  }
}

async function askHelper(helper: string, server: string, env: Environment): Promise<RegistryLogin | undefined> {
  const name = `docker-credential-${helper}`;
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(helper)) {
    throw new SourceError("SOURCE_DENIED", `the credential helper ${quoted(helper)} has a name that no program has`);
  }
  const { failure, output } = await runHelper(name, server, env);
  if (failure === undefined) return answerOf(output, name);
  if (NOT_FOUND.test(output)) return undefined;
  throw new SourceError("SOURCE_DENIED", `the credential helper ${name} gives no password for ${server} (${failure})`, {
    remedy: "Log in with skopeo login, or write the credentials into a file and name it in REGISTRY_AUTH_FILE.",
  });
}

function runHelper(
  name: string,
  server: string,
  env: Environment,
): Promise<{ readonly failure: string | undefined; readonly output: string }> {
  return new Promise((resolve) => {
    const options = { env: { ...env }, timeout: HELPER_TIMEOUT_MS, maxBuffer: MAX_ANSWER_LENGTH };
    const child = execFile(name, ["get"], options, (error, stdout) => {
      resolve({ failure: error === null ? undefined : String(error.code ?? error.signal), output: stdout });
    });
    // It may end without having listened.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(server);
  });
}

function answerOf(output: string, name: string): RegistryLogin | undefined {
  try {
    return readHelperAnswer(output, `the answer of ${name}`);
  } catch (error) {
    if (error instanceof FormatError) throw new SourceError("SOURCE_DENIED", error.message);
    throw error;
  }
}
