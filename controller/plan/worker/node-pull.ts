/**
 * The pull method `node` (contract 5.4): the kubelet pulls the user's container image, with its own credentials and cache,
 * and a program that is copied into it hands the disk out to the worker beside it.
 */
import type { Container, PodVolume } from "../../api/kube.ts";
import type { ControllerSettings } from "../observed.ts";
import { DONE_FILE, NODE_PULL_PORT, READY_FILE, SHARED_DIR } from "./environment.ts";
import type { WorkerRequest } from "./worker-request.ts";

/** Where our image has the program; it is linked statically, because the user's image may hold nothing else. */
const SERVER = "/usr/bin/cdi-containerimage-server";
const SHARED_SERVER = `${SHARED_DIR}/server`;

export const sharedVolume: PodVolume = { name: "shared-volume", emptyDir: {} };

export function serveDisk(
  { endpoint }: WorkerRequest,
  { workerImage }: ControllerSettings,
): { readonly init: Container; readonly server: Container } {
  const volumeMounts = [{ name: sharedVolume.name, mountPath: SHARED_DIR }];
  return {
    init: { name: "init", image: workerImage, command: ["sh", "-c", `cp ${SERVER} ${SHARED_SERVER}`], volumeMounts },
    server: {
      name: "server",
      image: withoutScheme(endpoint),
      command:
        `${SHARED_SERVER} -p ${NODE_PULL_PORT} -image-dir /disk -ready-file ${READY_FILE} -done-file ${DONE_FILE}`.split(
          " ",
        ),
      volumeMounts,
    },
  };
}

/** `docker://registry/repository:tag` without what is before the host. */
function withoutScheme(endpoint: string): string {
  return endpoint.replace(/^[a-z][a-z-]*:\/\//, "");
}
