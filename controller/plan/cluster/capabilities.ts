/**
 * What the storage behind a provisioner can do (contract 9.3), as data. Keys are those of provisioner-key.ts: a provisioner's
 * name, with a suffix where the parameters of a storage class make the difference.
 */
import type { ClaimPropertySet, CloneStrategy } from "../../api/cdi.ts";
import type { AccessMode, VolumeMode } from "../../api/kube.ts";

export interface Capabilities {
  /** In order of preference. */
  readonly sets: readonly ClaimPropertySet[];
  readonly cloneStrategy: CloneStrategy | undefined;
  /** What a DataImportCron keeps its images as. */
  readonly cronFormat: "snapshot" | undefined;
  /** The smallest volume, a quantity. */
  readonly minimumSize: string | undefined;
  /** Images of a DataImportCron are ReadWriteOnce, whatever the sets say. */
  readonly readWriteOnceForCron: boolean;
}

type SetName = `${keyof typeof ACCESS_MODES}/${keyof typeof VOLUME_MODES}`;

interface Row {
  readonly keys: readonly string[];
  readonly sets: readonly SetName[];
  readonly cloneStrategy?: CloneStrategy;
  readonly cronFormat?: "snapshot";
  readonly minimumSize?: string;
  readonly readWriteOnceForCron?: boolean;
}

const ACCESS_MODES = {
  RWX: "ReadWriteMany",
  RWO: "ReadWriteOnce",
  ROX: "ReadOnlyMany",
} as const satisfies Record<string, AccessMode>;

const VOLUME_MODES = { Block: "Block", FS: "Filesystem" } as const satisfies Record<string, VolumeMode>;

const TABLE: readonly Row[] = [
  {
    keys: [
      "kubevirt.io.hostpath-provisioner",
      "kubevirt.io/hostpath-provisioner",
      "k8s.io/minikube-hostpath",
      "kubernetes.io/storageos",
      "storageos",
      "driver.longhorn.io/fs",
      "directpv-min-io",
    ],
    sets: ["RWO/FS"],
  },
  {
    keys: [
      "kubevirt.io.hostpath-provisioner/overlay",
      "nfs.csi.k8s.io",
      "k8s-sigs.io/nfs-subdir-external-provisioner",
      "kubernetes.io/azure-file",
      "file.csi.azure.com",
      "manila.csi.openstack.org",
    ],
    sets: ["RWX/FS"],
  },
  { keys: ["kubernetes.io/rbd"], sets: ["RWX/Block", "RWO/Block", "RWO/FS"] },
  {
    keys: [
      "rbd.csi.ceph.com",
      "csi.hpe.com",
      "block.csi.ibm.com",
      "pxd.portworx.com/pure_block",
      "infinibox-csi-driver/iscsiorfibrechannel",
      "infinibox-csi-driver/nvme",
      "blockvolume.csi.oraclecloud.com",
    ],
    sets: ["RWX/Block", "RWO/Block", "RWO/FS"],
    cloneStrategy: "csi-clone",
  },
  {
    keys: ["rook-ceph.rbd.csi.ceph.com", "openshift-storage.rbd.csi.ceph.com"],
    sets: ["RWX/Block", "RWO/Block", "RWO/FS"],
    cloneStrategy: "csi-clone",
    cronFormat: "snapshot",
  },
  {
    keys: [
      "cephfs.csi.ceph.com",
      "rook-ceph.cephfs.csi.ceph.com",
      "openshift-storage.cephfs.csi.ceph.com",
      "spectrumscale.csi.ibm.com",
      "pxd.portworx.com/nfs",
      "pxd.portworx.com/pure_fa_file",
      "infinibox-csi-driver/nfs",
    ],
    sets: ["RWX/FS", "RWO/FS"],
    cloneStrategy: "csi-clone",
  },
  {
    keys: ["linstor.csi.linbit.com", "csi-unity.dellemc.com", "csi.huawei.com"],
    sets: ["RWX/Block", "RWO/Block", "RWO/FS", "ROX/Block", "ROX/FS"],
  },
  {
    keys: [
      "csi-unity.dellemc.com/nfs",
      "csi-vxflexos.dellemc.com/nfs",
      "csi-powermax.dellemc.com/nfs",
      "csi-powerstore.dellemc.com/nfs",
      "csi.huawei.com/nfs",
    ],
    sets: ["RWX/FS", "RWO/FS", "ROX/FS"],
  },
  {
    keys: ["csi-vxflexos.dellemc.com"],
    sets: ["RWX/Block", "RWO/Block", "RWO/FS", "ROX/Block", "ROX/FS"],
    cloneStrategy: "csi-clone",
  },
  { keys: ["csi-isilon.dellemc.com"], sets: ["RWX/FS", "RWO/FS", "ROX/FS"], cloneStrategy: "csi-clone" },
  {
    keys: ["csi-powermax.dellemc.com"],
    sets: ["RWX/Block", "RWO/Block", "RWO/FS", "ROX/Block"],
    cloneStrategy: "csi-clone",
  },
  {
    keys: ["csi-powerstore.dellemc.com"],
    sets: ["RWX/Block", "RWO/Block", "RWO/FS", "ROX/Block"],
    cloneStrategy: "copy",
  },
  {
    keys: [
      "kubernetes.io/aws-ebs",
      "ebs.csi.aws.com",
      "kubernetes.io/azure-disk",
      "disk.csi.azure.com",
      "driver.longhorn.io",
    ],
    sets: ["RWO/Block"],
  },
  { keys: ["ebs.csi.aws.com/io1"], sets: ["RWO/Block"], minimumSize: "4Gi" },
  { keys: ["ebs.csi.aws.com/io2"], sets: ["RWX/Block", "RWO/Block", "RWO/FS"], minimumSize: "4Gi" },
  { keys: ["ebs.csi.aws.com/gp"], sets: ["RWO/Block"], minimumSize: "1Gi" },
  {
    keys: ["efs.csi.aws.com", "kubernetes.io/portworx-volume/nfs", "driver.longhorn.io/nfs"],
    sets: ["RWX/FS", "RWO/FS"],
  },
  {
    keys: ["kubernetes.io/gce-pd", "cinder.csi.openstack.org", "csi.ovirt.org", "csi.vsphere.vmware.com"],
    sets: ["RWO/Block", "RWO/FS"],
  },
  {
    keys: ["pd.csi.storage.gke.io"],
    sets: ["RWO/Block", "RWO/FS"],
    cloneStrategy: "snapshot",
    cronFormat: "snapshot",
    readWriteOnceForCron: true,
  },
  {
    keys: ["pd.csi.storage.gke.io/hyperdisk"],
    sets: ["RWX/Block", "RWO/Block", "RWO/FS"],
    cloneStrategy: "snapshot",
    cronFormat: "snapshot",
    minimumSize: "4Gi",
    readWriteOnceForCron: true,
  },
  {
    keys: ["hspc.csi.hitachi.com", "csi.san.synology.com/iscsi"],
    sets: ["RWX/Block", "RWO/Block", "RWO/FS"],
    cloneStrategy: "csi-clone",
    minimumSize: "1Gi",
  },
  {
    keys: ["vpc.block.csi.ibm.io", "topolvm.cybozu.com", "topolvm.io"],
    sets: ["RWO/Block", "RWO/FS"],
    cloneStrategy: "copy",
  },
  {
    keys: ["vpc.file.csi.ibm.io", "csi.trident.netapp.io/ontap-nas"],
    sets: ["RWX/FS", "RWO/FS"],
    cloneStrategy: "snapshot",
    cronFormat: "snapshot",
  },
  {
    keys: ["vpc.file.csi.ibm.io/dp2"],
    sets: ["RWX/FS", "RWO/FS"],
    cloneStrategy: "snapshot",
    cronFormat: "snapshot",
    minimumSize: "10Gi",
  },
  {
    keys: ["vpc.file.csi.ibm.io/dp2-rwo"],
    sets: ["RWO/FS"],
    cloneStrategy: "snapshot",
    cronFormat: "snapshot",
    minimumSize: "10Gi",
  },
  {
    keys: ["vpc.file.csi.ibm.io/rfs", "csi.trident.netapp.io/gcnv-flex"],
    sets: ["RWX/FS", "RWO/FS"],
    cloneStrategy: "snapshot",
    cronFormat: "snapshot",
    minimumSize: "1Gi",
  },
  {
    keys: ["vpc.file.csi.ibm.io/rfs-rwo"],
    sets: ["RWO/FS"],
    cloneStrategy: "snapshot",
    cronFormat: "snapshot",
    minimumSize: "1Gi",
  },
  { keys: ["kubernetes.io/portworx-volume"], sets: ["RWX/Block", "RWX/FS", "RWO/Block", "RWO/FS"] },
  { keys: ["pxd.portworx.com"], sets: ["RWX/Block", "RWX/FS", "RWO/Block", "RWO/FS"], cloneStrategy: "csi-clone" },
  { keys: ["csi.trident.netapp.io/ontap-san"], sets: ["RWX/Block"], cloneStrategy: "snapshot", cronFormat: "snapshot" },
  { keys: ["csi.vsphere.vmware.com/nfs"], sets: ["RWX/FS", "RWO/Block", "RWO/FS"] },
  { keys: ["kubesan.gitlab.io"], sets: ["RWX/Block", "ROX/Block", "RWO/Block", "RWO/FS"], cloneStrategy: "csi-clone" },
  { keys: ["driver.longhorn.io/migratable"], sets: ["RWX/Block", "RWO/Block"] },
  {
    keys: ["csi.san.synology.com/nfs", "csi.san.synology.com/smb"],
    sets: ["RWX/FS", "RWO/FS"],
    cloneStrategy: "csi-clone",
    minimumSize: "1Gi",
  },
  { keys: ["xspc.csi.hpe.com"], sets: [], minimumSize: "1Gi" },
];

const BY_KEY: ReadonlyMap<string, Capabilities> = new Map(
  TABLE.flatMap((row) => row.keys.map((key): [string, Capabilities] => [key, capabilitiesOfRow(row)])),
);

/** @returns undefined for a key that is not in the table */
export function capabilitiesOf(key: string): Capabilities | undefined {
  return BY_KEY.get(key);
}

/** For tests, and for whoever wants to see them all. */
export function capabilityKeys(): readonly string[] {
  return [...BY_KEY.keys()];
}

function capabilitiesOfRow({
  sets,
  cloneStrategy,
  cronFormat,
  minimumSize,
  readWriteOnceForCron = false,
}: Row): Capabilities {
  return { sets: sets.map(setOf), cloneStrategy, cronFormat, minimumSize, readWriteOnceForCron };
}

function setOf(name: SetName): ClaimPropertySet {
  const [accessMode, volumeMode] = name.split("/") as [keyof typeof ACCESS_MODES, keyof typeof VOLUME_MODES];
  return { accessModes: [ACCESS_MODES[accessMode]], volumeMode: VOLUME_MODES[volumeMode] };
}
