/**
 * A storage class for whose claims nobody makes volumes, so that a claim waits for its volume for as long as a test wants.
 */
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { NO_PROVISIONER } from "../../../controller/api/names.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import type { Cluster } from "../cluster.ts";

export interface StaticVolumes {
  /** Binds at once what there is. */
  readonly storageClass: string;
  /** Makes a volume of 64Mi for a claim: a folder of the machine, which is both nodes'. */
  readonly add: (namespace: string, claimName: string) => Promise<void>;
}

const CLASSES = "/apis/storage.k8s.io/v1/storageclasses";
const VOLUMES = "/api/v1/persistentvolumes";

/** @param use is done with the claims, too, when it ends */
export async function withStaticVolumes(cluster: Cluster, use: (volumes: StaticVolumes) => Promise<void>) {
  const storageClass = `static-${randomUUID().slice(0, 8)}`;
  const names: string[] = [];
  await withTemporaryFolder(async (folder) => {
    await cluster.api.request("POST", CLASSES, {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: storageClass },
      provisioner: NO_PROVISIONER,
      volumeBindingMode: "Immediate",
    });
    try {
      await use({
        storageClass,
        add: async (namespace, claimName) => {
          const name = `${storageClass}-${claimName}`;
          const place = path.join(folder, name);
          fs.mkdirSync(place);
          // A folder of the machine does not get the pod's group.
          fs.chmodSync(place, 0o777);
          await cluster.api.request("POST", VOLUMES, {
            apiVersion: "v1",
            kind: "PersistentVolume",
            metadata: { name },
            spec: {
              capacity: { storage: "64Mi" },
              accessModes: ["ReadWriteOnce"],
              storageClassName: storageClass,
              persistentVolumeReclaimPolicy: "Retain",
              claimRef: { namespace, name: claimName },
              hostPath: { path: place },
            },
          });
          names.push(name);
        },
      });
    } finally {
      for (const name of names) await cluster.api.request("DELETE", `${VOLUMES}/${name}`);
      await cluster.api.request("DELETE", `${CLASSES}/${storageClass}`);
    }
  });
}
