/**
 * Which row of the capability table a storage class belongs to (contract 9.2): most often its provisioner's name; for some,
 * parameters of the class choose between kinds of storage that can do different things.
 */
import type { StorageClass, StringMap } from "../../api/kube.ts";

/** A class of a provisioner that is known, with parameters that are not. */
export const UNKNOWN_KEY = "UNKNOWN";

/** What comes after the provisioner's name; "" for nothing, undefined where the parameters say nothing that is known. */
type Suffix = string | undefined;

/** Parameters that are not given read as "". */
type Parameter = (name: string) => string;

const FILESYSTEM_TYPE = "csi.storage.k8s.io/fstype";

const RULES: ReadonlyMap<string, (parameter: Parameter, given: StringMap) => Suffix> = new Map<
  string,
  (parameter: Parameter, given: StringMap) => Suffix
>([
  ["kubevirt.io.hostpath-provisioner", (_, given) => (Object.hasOwn(given, "overlayCSI") ? "/overlay" : "")],
  ["kubernetes.io/portworx-volume", portworxNfs],
  ["pxd.portworx.com", (parameter) => portworxNfs(parameter) || portworxBackend(parameter)],
  ["csi.trident.netapp.io", trident],
  ["infinibox-csi-driver", infinibox],
  ["csi.vsphere.vmware.com", (parameter) => (parameter(FILESYSTEM_TYPE).includes("nfs") ? "/nfs" : "")],
  ["csi-unity.dellemc.com", (parameter) => (parameter("protocol").toLowerCase() === "nfs" ? "/nfs" : "")],
  ["csi.huawei.com", (parameter) => (parameter("protocol") === "nfs" ? "/nfs" : "")],
  ["csi-powerstore.dellemc.com", nfsByFilesystem],
  ["csi-vxflexos.dellemc.com", nfsByFilesystem],
  ["csi-powermax.dellemc.com", nfsByFilesystem],
  ["driver.longhorn.io", longhorn],
  ["ebs.csi.aws.com", ebs],
  ["pd.csi.storage.gke.io", persistentDisk],
  ["csi.san.synology.com", synology],
  ["vpc.file.csi.ibm.io", vpcFile],
]);

export function provisionerKey({ provisioner, parameters = {} }: StorageClass): string {
  const rule = RULES.get(provisioner);
  if (rule === undefined) return provisioner;
  const suffix = rule((name) => (Object.hasOwn(parameters, name) ? (parameters[name] ?? "") : ""), parameters);
  return suffix === undefined ? UNKNOWN_KEY : `${provisioner}${suffix}`;
}

function portworxNfs(parameter: Parameter): string {
  const options = parameter("sharedv4_mount_options");
  return options.includes("vers=3.0") && options.includes("nolock") ? "/nfs" : "";
}

function portworxBackend(parameter: Parameter): string {
  const backend = parameter("backend");
  return backend === "pure_block" || backend === "pure_fa_file" ? `/${backend}` : "";
}

function trident(parameter: Parameter): Suffix {
  const backend = parameter("backendType");
  if (backend.startsWith("ontap-nas")) return "/ontap-nas";
  if (backend.startsWith("ontap-san")) return "/ontap-san";
  const labels = parameter("selector")
    .split(/[;,]/)
    .map((label) => label.trim());
  return backend === "google-cloud-netapp-volumes" && labels.includes("performance=flex") ? "/gcnv-flex" : undefined;
}

function infinibox(parameter: Parameter): Suffix {
  switch (parameter("storage_protocol")) {
    case "iscsi":
    case "fc":
      return "/iscsiorfibrechannel";
    case "nvme":
      return "/nvme";
    case "nfs":
    case "nfs_treeq":
      return "/nfs";
    default:
      return undefined;
  }
}

function nfsByFilesystem(parameter: Parameter): Suffix {
  return parameter(FILESYSTEM_TYPE) === "nfs" ? "/nfs" : "";
}

function longhorn(parameter: Parameter): Suffix {
  if (parameter("migratable") === "true") return "/migratable";
  if (parameter("nfsOptions") !== "") return "/nfs";
  return parameter("fsType") === "" ? "" : "/fs";
}

function ebs(parameter: Parameter): Suffix {
  const type = parameter("type");
  if (type === "io1" || type === "io2") return `/${type}`;
  return type === "gp2" || type === "gp3" ? "/gp" : "";
}

function persistentDisk(parameter: Parameter): Suffix {
  const type = parameter("type");
  return type === "hyperdisk-balanced" || type === "hyperdisk-balanced-high-availability" ? "/hyperdisk" : "";
}

function synology(parameter: Parameter): Suffix {
  switch (parameter("protocol")) {
    case "":
    case "iscsi":
      return "/iscsi";
    case "smb":
      return "/smb";
    case "nfs":
    case "nfs_treeq":
      return "/nfs";
    default:
      return undefined;
  }
}

function vpcFile(parameter: Parameter): Suffix {
  const profile = parameter("profile");
  if (profile !== "rfs" && profile !== "dp2") return "";
  return parameter("vmState") === "true" ? `/${profile}-rwo` : `/${profile}`;
}
