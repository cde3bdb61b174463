/**
 * Pushes an image as people do who run virtual machines in containers: as the only file of a layer packed with gzip. The
 * layout that skopeo pushes is written here; the registry keeps what it got, so that it is made once.
 * @see OCI image-spec: image-layout.md, manifest.md
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

const TAG = "latest";
const TYPE = "application/vnd.oci.image";

/**
 * @param folder of the registry
 * @param image  file that the layer holds in `disk/`; its name without an extension names the repository
 * @returns the name for `docker://`
 */
export function pushDisk(host: string, folder: string, image: string, say: (text: string) => void): string {
  const repository = path.parse(image).name;
  const name = `docker://${host}/${repository}:${TAG}`;
  const place = path.join(folder, "data/docker/registry/v2/repositories", repository, "_manifests/tags", TAG);
  if (fs.existsSync(place)) return name;
  say(`pushing ${image}`);
  const layout = fs.mkdtempSync(path.join(folder, "layout-"));
  try {
    writeLayout(layout, image);
    execFileSync("skopeo", ["copy", "-q", "--dest-tls-verify=false", `oci:${layout}:${TAG}`, name], { stdio: "pipe" });
  } finally {
    fs.rmSync(layout, { recursive: true, force: true });
  }
  return name;
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

function writeLayout(layout: string, image: string): void {
  const blobs = path.join(layout, "blobs", "sha256");
  fs.mkdirSync(blobs, { recursive: true });
  const [tar, packed] = [path.join(layout, "tar"), path.join(layout, "packed")];
  // 107: qemu's user, who must be able to read it there.
  const owner = "--owner=107 --group=107 --numeric-owner";
  const line = `tar -C "$FOLDER" ${owner} --transform 's,^,disk/,' -cf "$TAR" "$NAME" && gzip -6 -n -c "$TAR" > "$PACKED"`;
  const { dir, base } = path.parse(image);
  const env = { ...process.env, FOLDER: dir, NAME: base, TAR: tar, PACKED: packed };
  execFileSync("sh", ["-ec", line], { env });
  const diffId = digestOf(tar);
  fs.rmSync(tar);
  const layer = keep(blobs, packed);
  const rootfs = { type: "layers", diff_ids: [diffId] };
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const config = keepJson(blobs, { architecture, os: "linux", config: {}, rootfs });
  const manifest = keepJson(blobs, {
    schemaVersion: 2,
    mediaType: `${TYPE}.manifest.v1+json`,
    config: { mediaType: `${TYPE}.config.v1+json`, ...config },
    layers: [{ mediaType: `${TYPE}.layer.v1.tar+gzip`, ...layer }],
  });
  const annotations = { "org.opencontainers.image.ref.name": TAG };
  const manifests = [{ mediaType: `${TYPE}.manifest.v1+json`, ...manifest, annotations }];
  fs.writeFileSync(path.join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests }));
  fs.writeFileSync(path.join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
}

function keepJson(blobs: string, value: object): Blob {
  const file = path.join(blobs, "unnamed");
  fs.writeFileSync(file, JSON.stringify(value));
  return keep(blobs, file);
}

/** Moves a file to where its digest names it. */
function keep(blobs: string, file: string): Blob {
  const digest = digestOf(file);
  const { size } = fs.statSync(file);
  fs.renameSync(file, path.join(blobs, digest.slice("sha256:".length)));
  return { digest, size };
}

/** In pieces: a layer is larger than what one read may return. */
function digestOf(file: string): string {
  const hash = createHash("sha256");
  const piece = Buffer.alloc(4 * 2 ** 20);
  const fd = fs.openSync(file, "r");
  try {
    for (let length; (length = fs.readSync(fd, piece)) > 0;) hash.update(piece.subarray(0, length));
  } finally {
    fs.closeSync(fd);
  }
  return `sha256:${hash.digest("hex")}`;
}
