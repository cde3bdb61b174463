/**
 * Pushes an image as people do who run virtual machines in containers: as the only file of a layer packed with gzip. The
 * registry keeps what it got, so that it is made once.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { buildImage } from "../test/support/build-image.ts";
import type { BuiltLayer } from "../test/support/build-image.ts";
import { pushImage } from "../test/support/docker-registry.ts";

const TAG = "latest";

/** By tools, for the tar is larger than a layer that a test builds. 107: qemu's user, who must be able to read it there. */
const PACK = `
tar -C "$FOLDER" --owner=107 --group=107 --numeric-owner --transform 's,^,disk/,' -cf "$TAR" "$NAME"
sha256sum < "$TAR"
gzip -6 -n "$TAR"`;

/**
 * @param folder of the registry
 * @param image  file that the layer holds in `disk/`; its name without an extension names the repository
 * @returns the name for `docker://`
 */
export async function pushDisk(
  host: string,
  folder: string,
  image: string,
  say: (text: string) => void,
): Promise<string> {
  const repository = path.parse(image).name;
  const place = path.join(folder, "data/docker/registry/v2/repositories", repository, "_manifests/tags", TAG);
  if (!fs.existsSync(place)) {
    say(`pushing ${image}`);
    const architecture = process.arch === "x64" ? "amd64" : process.arch;
    await pushImage(host, repository, TAG, buildImage([packLayer(folder, image)], { architecture }));
  }
  return `docker://${host}/${repository}:${TAG}`;
}

function packLayer(folder: string, image: string): BuiltLayer {
  const temporary = fs.mkdtempSync(path.join(folder, "layer-"));
  try {
    const { dir, base } = path.parse(image);
    const tar = path.join(temporary, "tar");
    const env = { ...process.env, FOLDER: dir, NAME: base, TAR: tar };
    const sum = execFileSync("sh", ["-ec", PACK], { env, encoding: "latin1" });
    return { bytes: fs.readFileSync(`${tar}.gz`), diffId: `sha256:${sum.slice(0, 64)}` };
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}
