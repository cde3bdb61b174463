/**
 * Every variable that the worker reads, with what it means and what its absence stands for. config.ts reads by these names
 * alone, and the table of docs/worker.md is made of them.
 */

interface Setting {
  readonly meaning: string;
  /** What an unset variable stands for. */
  readonly default: string;
}

export const settings = {
  IMPORTER_SOURCE: { meaning: "http, s3, gcs, registry, imageio, vddk or none (a blank disk)", default: "refused" },
  IMPORTER_ENDPOINT: { meaning: "URL or image reference", default: "refused, but for a blank disk" },
  IMPORTER_CONTENTTYPE: {
    meaning: "kubevirt (a disk) or archive (a tar that is unpacked)",
    default: "a disk over http, s3, gcs, vddk",
  },
  IMPORTER_IMAGE_SIZE: {
    meaning: "size of the disk as a Kubernetes quantity; malformed: exit 1",
    default: "the image's size",
  },
  OWNER_UID: { meaning: "label of the progress metric", default: "no progress metric" },
  FILESYSTEM_OVERHEAD: {
    meaning: "share of the volume that its filesystem takes, 0.06 for instance",
    default: "0, also where malformed",
  },
  INSECURE_TLS: { meaning: "no certificate is verified", default: "false, also where malformed" },
  PREALLOCATION: { meaning: "reserve the whole disk: true or false; malformed: exit 1", default: "exit 1" },
  CACHE_MODE: {
    meaning: "TRYNONE: write past the page cache where the target can",
    default: "through the page cache, bounded",
  },
  IMPORTER_ACCESS_KEY_ID: { meaning: "user name or access key", default: "none" },
  IMPORTER_SECRET_KEY: { meaning: "password or secret key", default: "none" },
  IMPORTER_SESSION_TOKEN: { meaning: "s3: session token of the access key", default: "none" },
  GOOGLE_APPLICATION_CREDENTIALS: { meaning: "file with a service account's JSON", default: "anonymous" },
  IMPORTER_CERT_DIR: { meaning: "folder of certificates to trust besides the system's", default: "none" },
  IMPORTER_PROXY_CERT_DIR: {
    meaning: "folder of certificates to trust for proxies and servers",
    default: "/proxycerts/",
  },
  http_proxy: { meaning: "proxy for http; HTTP_PROXY wins", default: "none" },
  https_proxy: { meaning: "proxy for https; HTTPS_PROXY wins", default: "none" },
  no_proxy: { meaning: "hosts that are reached without a proxy; NO_PROXY wins", default: "none" },
  "IMPORTER_EXTRA_HEADER_<n>": { meaning: "an HTTP header, as Name: value", default: "none" },
  IMPORTER_CHECKSUM: {
    meaning: "md5, sha1, sha256 or sha512 of the image as it is stored, as algorithm:hex",
    default: "not checked",
  },
  IMPORTER_REGISTRY_IMAGE_ARCHITECTURE: {
    meaning: "architecture of the container image, arm64 for instance",
    default: "the worker's own",
  },
  IMPORTER_PULL_METHOD: {
    meaning: "node: the image is served by a container of the same pod",
    default: "pulled by the worker",
  },
  IMPORTER_READY_FILE: { meaning: "file to wait for; its content names the disk's file", default: "no waiting" },
  IMPORTER_DONE_FILE: { meaning: "file to make when done", default: "none" },
  IMPORTER_DISK_ID: { meaning: "imageio: the disk", default: "none" },
  IMPORTER_UUID: { meaning: "vddk: the virtual machine", default: "none" },
  IMPORTER_BACKING_FILE: { meaning: "vddk: path of the disk", default: "none" },
  IMPORTER_THUMBPRINT: { meaning: "vddk: the server's certificate", default: "none" },
  IMPORTER_CURRENT_CHECKPOINT: { meaning: "imageio, vddk: snapshot to copy", default: "none" },
  IMPORTER_PREVIOUS_CHECKPOINT: { meaning: "imageio, vddk: its parent, or a change id", default: "none" },
  IMPORTER_FINAL_CHECKPOINT: { meaning: "imageio, vddk: whether this copy is the last", default: "none" },
  DECANT_CONTROLLER: {
    meaning: "1: decant's controller listens; an error that no restart can mend ends with exit 0",
    default: "any controller",
  },
  DECANT_STALL_SECONDS: {
    meaning: "how long no byte may come before a connection is given up and made again",
    default: "60",
  },
  DECANT_NBDKIT_SOCKET: { meaning: "vddk: where an nbdkit of yours serves the disk, a Unix socket", default: "none" },
  DECANT_DATA_DIR: { meaning: "for other runtimes: folder of the filesystem volume", default: "/data" },
  DECANT_BLOCK_DEVICE: { meaning: "for other runtimes: the block volume", default: "/dev/cdi-block-volume" },
  DECANT_SCRATCH_DIR: { meaning: "for other runtimes: folder of the scratch volume", default: "/scratch" },
  DECANT_TERMINATION_LOG: { meaning: "for other runtimes: the termination message", default: "/dev/termination-log" },
  DECANT_EXTRA_HEADERS_DIR: { meaning: "for other runtimes: folder of secret headers", default: "/extraheaders" },
  DECANT_METRICS_PORT: { meaning: "for other runtimes: port of the metrics page; 0: any", default: "8443" },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof settings;
