import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ByteStream } from "../../../formats/byte-stream.ts";
import { FormatError } from "../../../formats/errors.ts";
import type { FormatErrorCode } from "../../../formats/errors.ts";
import { parseContentDigest } from "../../../importer/oci/content-digest.ts";
import { findDisk } from "../../../importer/oci/find-disk.ts";
import { Layer } from "../../../importer/oci/layer.ts";
import { buildLayer, digestOf, file, hardLink, symbolicLink } from "../../support/build-image.ts";
import { longName } from "../../support/build-tar.ts";
import type { TarEntry } from "../../support/build-tar.ts";
import { readAll } from "../../support/http-client.ts";

function streamOf(bytes: Uint8Array, onClose: () => void): ByteStream {
  let at = 0;
  return {
    read(into) {
      const piece = bytes.subarray(at, at + into.length);
      into.set(piece);
      at += piece.length;
      return piece.length;
    },
    close: onClose,
  };
}

interface Searched {
  readonly path: string;
  readonly content: string;
  /** Indexes of layers, the topmost 0, in the order in which they were opened. */
  readonly opened: readonly number[];
}

/** Layers from the base up, as an image is made. */
async function search(layers: readonly (readonly TarEntry[])[], member?: string): Promise<Searched> {
  const opened: number[] = [];
  let open = 0;
  const openers = layers.toReversed().map((entries, index) => async () => {
    const { bytes } = buildLayer(entries);
    const digest = parseContentDigest(digestOf(bytes));
    assert.ok(digest !== undefined);
    opened.push(index);
    open += 1;
    let isClosed = false;
    const stream = streamOf(bytes, () => {
      if (!isClosed) open -= 1;
      isClosed = true;
    });
    const descriptor = { mediaType: "", digest, size: bytes.length, annotations: {}, platform: undefined };
    return await Layer.open(stream, { descriptor, decoding: { decoders: "portable", memoryLimit: 1 << 20 } });
  });
  try {
    const found = await findDisk(openers, member);
    try {
      const content = (await readAll(found.stream)).toString();
      assert.equal(content.length, found.size);
      return { path: found.path, content, opened };
    } finally {
      await found.stream.close();
    }
  } finally {
    assert.equal(open, 0, "layers are left open");
  }
}

async function refused(
  layers: readonly (readonly TarEntry[])[],
  code: FormatErrorCode,
  message: RegExp,
  member?: string,
): Promise<FormatError> {
  let refusal: FormatError | undefined;
  await assert.rejects(search(layers, member), (error) => {
    assert.ok(error instanceof FormatError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    refusal = error;
    return true;
  });
  assert.ok(refusal !== undefined);
  return refusal;
}

const folder = (name: string): TarEntry => ({ name, type: "5" });
const NONE = /^Failed to find VM disk image file in the container image$/;

describe("findDisk", () => {
  it("takes the only file of the folder, whatever leads its name", async () => {
    for (const name of ["disk/x.img", "./disk/x.img", "/disk/x.img", "disk/sub/x.img"]) {
      const { content } = await search([[folder("disk/"), file("etc/x", "no"), file(name, "yes"), file("z", "no")]]);
      assert.equal(content, "yes", name);
    }
  });

  it("takes names with blanks, other letters and great lengths", async () => {
    for (const name of ["disk/my disk.img", "disk/дiск ü.img", `disk/%zz.img`, `disk/${"n".repeat(300)}`]) {
      const entries = name.length > 100 ? [longName(name), file("cut", "yes")] : [file(name, "yes")];
      assert.deepEqual(await search([entries]), { path: name, content: "yes", opened: [0] });
    }
  });

  it("does not take what only looks like the folder", async () => {
    await refused([[file("diskette/x", "a"), file("disk", "b"), file("opt/disk/x", "c")]], "FORMAT_UNRECOGNISED", NONE);
    await refused([[{ name: "disk/null", type: "3" }, folder("disk/folder")]], "FORMAT_UNRECOGNISED", NONE);
    await refused([[]], "FORMAT_UNRECOGNISED", NONE);
    await refused([], "FORMAT_UNRECOGNISED", NONE);
  });

  it("R02: refuses two files with their names, and takes the one that is named", async () => {
    const layers = [[file("disk/a.img", "one"), file("disk/b.img", "two")]];
    const { message, remedy, context } = await refused(layers, "FORMAT_UNSUPPORTED", /holds 2 files in its folder/);
    assert.match(message, /"disk\/a.img", "disk\/b.img"$/);
    assert.match(remedy ?? "", /--member NAME/);
    assert.deepEqual(context["members"], ["disk/a.img", "disk/b.img"]);
    for (const member of ["b.img", "disk/b.img", "/disk/b.img", "./disk/b.img"]) {
      assert.equal((await search(layers, member)).content, "two", member);
    }
    assert.equal((await search([[file("images/c.img", "three")]], "images/c.img")).content, "three");
    await refused(layers, "FORMAT_UNRECOGNISED", /holds no file "c.img"$/, "c.img");
  });

  it("reads from the top down, and nothing below the layer that decides", async () => {
    const layers = [[file("disk/x.img", "old")], [file("disk/x.img", "new")], [file("etc/x", "")]];
    assert.deepEqual(await search(layers), { path: "disk/x.img", content: "new", opened: [0, 1] });
  });

  it("honours whiteouts of the layers above", async () => {
    const base = [file("disk/a.img", "a"), file("disk/b.img", "b")];
    assert.equal((await search([base, [file("disk/.wh.a.img", "")]])).content, "b");
    await refused([base, [file("disk/.wh..wh..opq", "")]], "FORMAT_UNRECOGNISED", NONE);
    await refused([base, [file(".wh.disk", "")]], "FORMAT_UNRECOGNISED", NONE);
    await refused([base, [file("disk", "in its place")]], "FORMAT_UNRECOGNISED", NONE);
    const remade = [file("disk/.wh..wh..opq", ""), file("disk/c.img", "c")];
    assert.equal((await search([base, remade])).content, "c");
    assert.equal(
      (await search([[file("disk/a.img", "a")], [file("disk/.wh.a.img", ""), file("disk/a.img", "A")]])).content,
      "A",
    );
    await refused([base, [file("disk/.wh.b.img", "")]], "FORMAT_UNRECOGNISED", /no file "b.img"/, "b.img");
  });

  it("follows a link inside the folder, which is the same disk", async () => {
    const entries = [
      file("disk/real.img", "yes"),
      symbolicLink("disk/latest", "real.img"),
      hardLink("disk/hard", "disk/real.img"),
    ];
    assert.equal((await search([entries])).content, "yes");
    const reversed = [
      symbolicLink("disk/latest", "real.img"),
      symbolicLink("disk/other", "latest"),
      file("disk/real.img", "yes"),
    ];
    assert.equal((await search([reversed])).content, "yes");
  });

  it("R04: follows links to other folders, in the same layer and in lower ones", async () => {
    for (const link of ["../images/a.img", "/images/a.img", "../../../images/a.img"]) {
      const [target, leads] = [file("images/a.img", "yes"), symbolicLink("disk/x", link)];
      assert.deepEqual(await search([[target, leads]]), { path: "images/a.img", content: "yes", opened: [0, 0] });
      assert.deepEqual((await search([[target], [leads]])).opened, [0, 0, 1]);
    }
    const chain = [file("c", "yes"), symbolicLink("b", "c"), symbolicLink("disk/x", "/b")];
    assert.equal((await search([chain])).content, "yes");
    const hard = [[file("images/a.img", "yes")], [hardLink("disk/x", "images/a.img")]];
    assert.equal((await search(hard)).content, "yes");
  });

  it("follows links in the place of folders", async () => {
    const layer = [file("srv/images/x.img", "yes"), symbolicLink("disk", "srv/images")];
    assert.equal((await search([layer])).content, "yes");
    const twice = [
      file("srv/v2/x.img", "yes"),
      symbolicLink("srv/now", "v2"),
      symbolicLink("disk/x", "/srv/now/x.img"),
    ];
    assert.equal((await search([twice])).content, "yes");
  });

  it("lets a hard link keep what it stood for when the other name is replaced above", async () => {
    const base = [file("images/a.img", "old"), hardLink("disk/x", "images/a.img")];
    assert.equal((await search([base, [file("images/a.img", "new")]])).content, "old");
    const symbolic = [file("images/a.img", "old"), symbolicLink("disk/x", "/images/a.img")];
    assert.equal((await search([symbolic, [file("images/a.img", "new")]])).content, "new");
  });

  it("takes a folder above for a folder, not for the link that was there", async () => {
    const base = [symbolicLink("disk", "images"), file("images/x.img", "no")];
    await refused([base, [folder("disk/")]], "FORMAT_UNRECOGNISED", NONE);
  });

  it("refuses links that lead nowhere, in a circle, or to several disks", async () => {
    await refused([[symbolicLink("disk/x", "../nowhere")]], "FORMAT_UNRECOGNISED", /no file "\/nowhere"$/);
    const circle = /behind more than 16 links/;
    await refused([[symbolicLink("disk/x", "x")]], "FORMAT_UNSUPPORTED", circle);
    await refused([[symbolicLink("disk/x", "y"), symbolicLink("disk/y", "x")]], "FORMAT_UNSUPPORTED", circle);
    await refused([[symbolicLink("disk/x", "/y"), symbolicLink("y", "disk/x")]], "FORMAT_UNSUPPORTED", circle);
    await refused([[symbolicLink("disk", "disk")]], "FORMAT_UNSUPPORTED", circle);
    const growing = [symbolicLink("disk/x", "/a/x"), symbolicLink("a", "a/a")];
    await refused([growing], "FORMAT_UNSUPPORTED", circle);
    const two = [symbolicLink("disk/x", "/a"), symbolicLink("disk/y", "/b"), file("a", ""), file("b", "")];
    await refused([two], "FORMAT_UNSUPPORTED", /holds 2 files/);
    await refused([[file("disk/x", "a"), symbolicLink("disk/y", "/b")]], "FORMAT_UNSUPPORTED", /"disk\/x", "disk\/y"$/);
  });

  it("refuses a disk that comes twice, for the second is the right one and the first has gone by", async () => {
    await refused([[file("disk/x", "a"), file("disk/x", "b")]], "FORMAT_UNSUPPORTED", /holds 2 files/);
  });

  it("remembers only so many names", async () => {
    const names = Array.from({ length: 20 }, (_, i) => `disk/${i}${"n".repeat(60_000)}`);
    const links = names.flatMap((name) => [longName(name), symbolicLink("cut", "l".repeat(100))]);
    await refused([links], "FORMAT_OUT_OF_BOUNDS", /have more than 1048576 characters|hide more paths/);
  });
});
