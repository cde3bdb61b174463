/**
 * Contract 9.2, each rule with the parameters that lead to each of its keys.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { capabilitiesOf } from "../../../../controller/plan/cluster/capabilities.ts";
import { provisionerKey } from "../../../../controller/plan/cluster/provisioner-key.ts";
import { storageClass } from "../../../support/observed-import.ts";

const FILESYSTEM_TYPE = "csi.storage.k8s.io/fstype";

/** Provisioner, parameters, and what is added to its name; undefined: UNKNOWN. */
const RULES: readonly [string, Record<string, string>, string | undefined][] = [
  ["rancher.io/local-path", { type: "nfs" }, ""],
  ["kubevirt.io.hostpath-provisioner", {}, ""],
  ["kubevirt.io.hostpath-provisioner", { overlayCSI: "" }, "/overlay"],
  ["kubernetes.io/portworx-volume", {}, ""],
  ["kubernetes.io/portworx-volume", { sharedv4_mount_options: "vers=3.0,nolock" }, "/nfs"],
  ["kubernetes.io/portworx-volume", { sharedv4_mount_options: "vers=3.0" }, ""],
  ["kubernetes.io/portworx-volume", { backend: "pure_block" }, ""],
  ["pxd.portworx.com", { sharedv4_mount_options: "nolock,vers=3.0", backend: "pure_block" }, "/nfs"],
  ["pxd.portworx.com", { backend: "pure_block" }, "/pure_block"],
  ["pxd.portworx.com", { backend: "pure_fa_file" }, "/pure_fa_file"],
  ["pxd.portworx.com", { backend: "another" }, ""],
  ["csi.trident.netapp.io", { backendType: "ontap-nas-economy" }, "/ontap-nas"],
  ["csi.trident.netapp.io", { backendType: "ontap-san" }, "/ontap-san"],
  [
    "csi.trident.netapp.io",
    { backendType: "google-cloud-netapp-volumes", selector: "zone=a; performance=flex" },
    "/gcnv-flex",
  ],
  [
    "csi.trident.netapp.io",
    { backendType: "google-cloud-netapp-volumes", selector: "performance=flexible" },
    undefined,
  ],
  ["csi.trident.netapp.io", {}, undefined],
  ["infinibox-csi-driver", { storage_protocol: "iscsi" }, "/iscsiorfibrechannel"],
  ["infinibox-csi-driver", { storage_protocol: "fc" }, "/iscsiorfibrechannel"],
  ["infinibox-csi-driver", { storage_protocol: "nvme" }, "/nvme"],
  ["infinibox-csi-driver", { storage_protocol: "nfs" }, "/nfs"],
  ["infinibox-csi-driver", { storage_protocol: "nfs_treeq" }, "/nfs"],
  ["infinibox-csi-driver", {}, undefined],
  ["csi.vsphere.vmware.com", { [FILESYSTEM_TYPE]: "nfs4" }, "/nfs"],
  ["csi.vsphere.vmware.com", { [FILESYSTEM_TYPE]: "ext4" }, ""],
  ["csi-unity.dellemc.com", { protocol: "NFS" }, "/nfs"],
  ["csi-unity.dellemc.com", { protocol: "iSCSI" }, ""],
  ["csi.huawei.com", { protocol: "nfs" }, "/nfs"],
  ["csi.huawei.com", { protocol: "NFS" }, ""],
  ["csi-powerstore.dellemc.com", { [FILESYSTEM_TYPE]: "nfs" }, "/nfs"],
  ["csi-vxflexos.dellemc.com", { [FILESYSTEM_TYPE]: "nfs" }, "/nfs"],
  ["csi-powermax.dellemc.com", { [FILESYSTEM_TYPE]: "nfs" }, "/nfs"],
  ["csi-powermax.dellemc.com", { [FILESYSTEM_TYPE]: "nfs4" }, ""],
  ["driver.longhorn.io", { migratable: "true", nfsOptions: "x", fsType: "ext4" }, "/migratable"],
  ["driver.longhorn.io", { migratable: "false", nfsOptions: "x", fsType: "ext4" }, "/nfs"],
  ["driver.longhorn.io", { fsType: "ext4" }, "/fs"],
  ["driver.longhorn.io", {}, ""],
  ["ebs.csi.aws.com", { type: "io1" }, "/io1"],
  ["ebs.csi.aws.com", { type: "io2" }, "/io2"],
  ["ebs.csi.aws.com", { type: "gp2" }, "/gp"],
  ["ebs.csi.aws.com", { type: "gp3" }, "/gp"],
  ["ebs.csi.aws.com", { type: "st1" }, ""],
  ["pd.csi.storage.gke.io", { type: "hyperdisk-balanced" }, "/hyperdisk"],
  ["pd.csi.storage.gke.io", { type: "hyperdisk-balanced-high-availability" }, "/hyperdisk"],
  ["pd.csi.storage.gke.io", { type: "pd-ssd" }, ""],
  ["csi.san.synology.com", {}, "/iscsi"],
  ["csi.san.synology.com", { protocol: "iscsi" }, "/iscsi"],
  ["csi.san.synology.com", { protocol: "smb" }, "/smb"],
  ["csi.san.synology.com", { protocol: "nfs" }, "/nfs"],
  ["csi.san.synology.com", { protocol: "nfs_treeq" }, "/nfs"],
  ["csi.san.synology.com", { protocol: "nvme" }, undefined],
  ["vpc.file.csi.ibm.io", {}, ""],
  ["vpc.file.csi.ibm.io", { profile: "rfs" }, "/rfs"],
  ["vpc.file.csi.ibm.io", { profile: "dp2" }, "/dp2"],
  ["vpc.file.csi.ibm.io", { profile: "rfs", vmState: "true" }, "/rfs-rwo"],
  ["vpc.file.csi.ibm.io", { profile: "dp2", vmState: "true" }, "/dp2-rwo"],
  ["vpc.file.csi.ibm.io", { profile: "other", vmState: "true" }, ""],
];

describe("provisionerKey", () => {
  for (const [provisioner, parameters, suffix] of RULES) {
    it(`${provisioner} ${JSON.stringify(parameters)}`, () => {
      const key = provisionerKey(storageClass({ provisioner, parameters }));
      assert.equal(key, suffix === undefined ? "UNKNOWN" : `${provisioner}${suffix}`);
      // Every suffix is a row of the table.
      if (suffix !== undefined && suffix !== "") assert.notEqual(capabilitiesOf(key), undefined);
    });
  }

  it("a class without parameters", () => {
    assert.equal(provisionerKey(storageClass({ provisioner: "ebs.csi.aws.com" })), "ebs.csi.aws.com");
  });
});
