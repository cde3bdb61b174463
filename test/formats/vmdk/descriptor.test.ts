import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { checkEmbeddedDescriptor, parseDescriptor, refuseDescriptorFile } from "../../../formats/vmdk/descriptor.ts";
import { buildDescriptor } from "../../support/build-vmdk.ts";

function parsed(text: string): ReturnType<typeof parseDescriptor> {
  return parseDescriptor(Buffer.from(text, "latin1"));
}

function refusal(text: string): FormatError {
  try {
    return refuseDescriptorFile(parsed(text));
  } catch (error) {
    if (error instanceof FormatError) return error;
    throw error;
  }
}

describe("a VMDK descriptor", () => {
  it("is read in the ways that writers write it", () => {
    const text =
      '# Disk DescriptorFile\r\nversion=1\r\nParentCID = FFFFFFFF\r\ncreateType = "custom"\r\n  RDONLY 20 FLAT "a b.vmdk" 7\r\nRW 5 ZERO\r\n\0RW 1 SPARSE "hidden"';
    assert.deepEqual(parsed(text), {
      parentCid: "ffffffff",
      parentFileName: undefined,
      createType: "custom",
      extents: [
        { type: "FLAT", sizeInSectors: 20, fileName: "a b.vmdk" },
        { type: "ZERO", sizeInSectors: 5, fileName: "" },
      ],
    });
  });

  it("embedded in a whole disk is accepted", () => {
    for (const type of ["monolithicSparse", "streamOptimized"]) {
      checkEmbeddedDescriptor(parsed(buildDescriptor(8, type)));
    }
    checkEmbeddedDescriptor(parsed('createType="streamOptimized"\nRDONLY 8 SPARSE "generated-stream.vmdk"\n'));
    checkEmbeddedDescriptor(parsed('createType="monolithicSparse"\n'));
  });

  it("that is empty is no descriptor", () => {
    for (const text of ["", "\0\0", "# nothing\n", "garbage = \x01"]) {
      assert.throws(() => checkEmbeddedDescriptor(parsed(text)), { code: "FORMAT_UNSUPPORTED", message: /split/ });
    }
  });

  it("of a snapshot is refused with the parent's name", () => {
    const named = parsed(
      buildDescriptor(8, "monolithicSparse", ["parentCID=0123abcd", 'parentFileNameHint="/vm/base.vmdk"']),
    );
    assert.throws(() => checkEmbeddedDescriptor(named), {
      message: /parent, "\/vm\/base\.vmdk"/,
      remedy: /vdiskmanager/,
    });
    const byId = parsed(buildDescriptor(8, "monolithicSparse", ["parentCID=0123ABCD"]));
    assert.throws(() => checkEmbeddedDescriptor(byId), { message: /CID "0123abcd"/ });
  });

  it("is refused with its files, as many as fit in a sentence", () => {
    const lines = Array.from({ length: 300 }, (_, i) => `RW 4192256 SPARSE "disk-s${i}.vmdk"`);
    const error = refusal(buildDescriptor(8, "twoGbMaxExtentSparse", lines));
    assert.equal(error.code, "FORMAT_UNSUPPORTED");
    assert.match(error.message, /type "twoGbMaxExtentSparse".*"disk-s0\.vmdk", .*"disk-s7\.vmdk" and 292 more$/);
    assert.deepEqual((error.context["extents"] as string[]).length, 8);
  });

  it("shows nothing that a terminal would obey, and no more than a bounded part", () => {
    const error = refusal(buildDescriptor(8, "\x1b[2Jx", [`RW 1 FLAT "\x1b]0;\x07${"n".repeat(5000)}"`]));
    assert.match(error.message, /^[\x20-\x7e]+$/);
    assert.ok(error.message.length < 400);
  });

  it("without extents is refused all the same", () => {
    assert.match(refusal("# Disk DescriptorFile\n").message, /does not name/);
    assert.match(refusal("# Disk DescriptorFile\nRW 8 ZERO\n").message, /ZERO/);
  });
});
