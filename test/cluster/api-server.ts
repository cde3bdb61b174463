/**
 * An API server for all tests of a `describe`, and kubectl as they ask it.
 */
import { execFileSync } from "node:child_process";
import { after, before } from "node:test";
import { openApi } from "./api.ts";
import type { Api } from "./api.ts";
import { startControlPlane } from "./control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";

export interface ApiServer {
  readonly controlPlane: ControlPlane;
  /** As an admin. */
  readonly api: Api;
}

/** For a `describe`: one of its own, which is handed over before the first test and stopped after the last one. */
export function provideApiServer(prepare: (server: ApiServer) => Promise<void>): void {
  let controlPlane: ControlPlane | undefined;
  let api: Api | undefined;
  before(async () => {
    controlPlane = await startControlPlane();
    api = openApi(controlPlane.kubeconfig);
    await prepare({ controlPlane, api });
  });
  after(async () => {
    api?.close();
    await controlPlane?.stop();
  });
}

/** @returns what it wrote to its standard output, without the end of its last line */
export function askKubectl({ kubectl, kubeconfig }: ControlPlane, args: readonly string[], input = ""): string {
  const all = ["--kubeconfig", kubeconfig, ...args];
  return execFileSync(kubectl, all, { input, encoding: "utf8", stdio: "pipe" }).trim();
}
