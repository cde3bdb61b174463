/**
 * The volume that a provisioner makes for a claim: of the claim's own wishes, reserved for it, destroyed with it.
 */
import type { Claim, Volume } from "../../controller/api/kube.ts";

export function provisionedVolume({ kind, metadata: { namespace, name, uid = "" }, spec }: Claim): Volume {
  const { storageClassName, accessModes, volumeMode, resources } = spec;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `pvc-${uid}` },
    spec: {
      capacity: resources?.requests,
      accessModes,
      storageClassName,
      volumeMode,
      persistentVolumeReclaimPolicy: "Delete",
      claimRef: { apiVersion: "v1", kind, namespace, name, uid },
    },
  } as Volume;
}
