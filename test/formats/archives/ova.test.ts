import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_OVF_LENGTH, parseOvf } from "../../../formats/archives/ova.ts";
import type { OvfDisk } from "../../../formats/archives/ova.ts";
import { FormatError } from "../../../formats/errors.ts";
import type { FormatErrorCode } from "../../../formats/errors.ts";
import { buildOvf } from "../../support/build-ova.ts";

const GIB = 1024 ** 3;

function assertRefused(xml: string | Uint8Array, code: FormatErrorCode, message: RegExp): void {
  assert.throws(
    () => parseOvf(Buffer.from(xml)),
    (error) => error instanceof FormatError && error.code === code && message.test(error.message),
  );
}

/** A descriptor with one file and one disk, with these attributes. */
function one(disk: string, file = 'ovf:id="f" ovf:href="a.vmdk"'): string {
  return `<Envelope xmlns:ovf="o"><References><File ${file}/></References><DiskSection><Disk ${disk}/></DiskSection></Envelope>`;
}

function capacityOf(attributes: string): number | undefined {
  return parseOvf(Buffer.from(one(`ovf:diskId="d" ${attributes}`)))[0]?.capacity;
}

describe("parseOvf", () => {
  it("reads disks with their files", () => {
    const disks = [
      { name: "a.vmdk", content: Buffer.alloc(7), capacity: 3 * GIB },
      { name: "b.vmdk", content: Buffer.alloc(9), chunkSize: 1000, parentRef: "disk1" },
    ];
    const format = "http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized";
    const expected: OvfDisk[] = [
      {
        id: "disk1",
        href: "a.vmdk",
        fileSize: 7,
        capacity: 3 * GIB,
        format,
        compression: "identity",
        chunkSize: undefined,
        parent: undefined,
      },
      {
        id: "disk2",
        href: "b.vmdk",
        fileSize: 9,
        capacity: GIB,
        format,
        compression: "identity",
        chunkSize: 1000,
        parent: "disk1",
      },
    ];
    assert.deepEqual(parseOvf(Buffer.from(buildOvf({ disks }))), expected);
    assert.equal(parseOvf(Buffer.from(buildOvf({ disks, gzip: true })))[0]?.compression, "gzip");
  });

  it("reads prefixed elements, other namespaces, a byte order mark, and blank disks", () => {
    const xml = `\ufeff<?xml version='1.0'?><o:Envelope xmlns:o="o" xmlns:vbox="v"><!-- <o:Disk/> -->
      <o:References><o:File o:href='a &amp; b&#x2e;vmdk' vbox:id="no" o:id="f"></o:File></o:References>
      <o:DiskSection><o:Disk vbox:format="no" o:diskId="1" o:fileRef="f" o:capacity="5"/>
      <o:Disk o:diskId="2" o:capacity="6"></o:Disk></o:DiskSection></o:Envelope>`.replaceAll("o:id", "ovf:id");
    const disks = parseOvf(Buffer.from(xml));
    assert.deepEqual(
      disks.map(({ id, href, capacity }) => [id, href, capacity]),
      [
        ["1", "a & b.vmdk", 5],
        ["2", undefined, 6],
      ],
    );
  });

  it("reads the sections of OVF 0.9", () => {
    const xml = `<ovf:Envelope xmlns:ovf="o" xmlns:xsi="x"><References><File ovf:id="f" ovf:href="a.vmdk"/></References>
      <Section xsi:type="ovf:NetworkSection_Type"><Disk ovf:diskId="no"/></Section>
      <Section xsi:type="ovf:DiskSection_Type"><Disk ovf:diskId="1" ovf:fileRef="f"/></Section></ovf:Envelope>`;
    assert.deepEqual(
      parseOvf(Buffer.from(xml)).map((disk) => [disk.id, disk.href]),
      [["1", "a.vmdk"]],
    );
  });

  it("multiplies the capacity with its units", () => {
    assert.equal(capacityOf('ovf:capacity="16" ovf:capacityAllocationUnits="byte * 2^30"'), 16 * GIB);
    assert.equal(capacityOf('ovf:capacity="16" ovf:capacityAllocationUnits="byte*2^20"'), 16 * 1024 ** 2);
    assert.equal(capacityOf('ovf:capacity="3" ovf:capacityAllocationUnits="byte * 10^9 * 2"'), 6e9);
    assert.equal(capacityOf('ovf:capacity="3" ovf:capacityAllocationUnits="MegaBytes"'), 3 * 1024 ** 2);
    assert.equal(capacityOf('ovf:capacity="3"'), 3);
    assert.equal(capacityOf(`ovf:capacity="\${size}"`), undefined);
    assert.equal(capacityOf('ovf:capacity="3" ovf:capacityAllocationUnits="constructor"'), undefined);
    assertRefused(
      one('ovf:diskId="d" ovf:capacity="9000" ovf:capacityAllocationUnits="byte * 2^50"'),
      "FORMAT_OUT_OF_BOUNDS",
      /capacity/,
    );
  });

  it("refuses what does not fit together", () => {
    assertRefused(one('ovf:diskId="d" ovf:fileRef="other"'), "FORMAT_INVALID", /"d" .* refers to no file: "other"/);
    assertRefused(one('ovf:fileRef="f"'), "FORMAT_INVALID", /a Disk without diskId/);
    assertRefused(one('ovf:diskId="d" ovf:fileRef="f"', 'ovf:id="f"'), "FORMAT_INVALID", /a File without href/);
    assertRefused(
      one('ovf:diskId="d"', 'ovf:id="f" ovf:href="a"/><File ovf:id="f" ovf:href="b"'),
      "FORMAT_INVALID",
      /two files/,
    );
    const bzip2 = 'ovf:id="f" ovf:href="a" ovf:compression="bzip2"';
    assertRefused(one('ovf:diskId="d" ovf:fileRef="f"', bzip2), "FORMAT_UNSUPPORTED", /compression "bzip2"/);
    assertRefused("<Envelopes/>", "FORMAT_INVALID", /no Envelope/);
    assertRefused(
      one(`ovf:diskId="1"/>${'<Disk ovf:diskId="2"/>'.repeat(1024)}<Disk ovf:diskId="3"`),
      "FORMAT_OUT_OF_BOUNDS",
      /1024/,
    );
  });

  it("refuses every cut and what is no XML", () => {
    const xml = buildOvf({ disks: [{ name: "a.vmdk", content: Buffer.alloc(1) }] }).trimEnd();
    for (let length = 0; length < xml.length; length += 7)
      assertRefused(xml.slice(0, length), "FORMAT_INVALID", /Envelope|well-formed/);
    assertRefused(Buffer.alloc(1000, 0xff), "FORMAT_INVALID", /well-formed|Envelope/);
  });

  it("answers hostile documents with an error, and soon", () => {
    const entity = '<!DOCTYPE a [<!ENTITY b "bbbbbbbb">]>';
    assertRefused(entity + one('ovf:diskId="&b;"'), "FORMAT_UNSUPPORTED", /document type/);
    assertRefused(Buffer.alloc(MAX_OVF_LENGTH + 1, " "), "FORMAT_OUT_OF_BOUNDS", /4194305 bytes/);
    const megabyte = 2 ** 20;
    assertRefused("<a>".repeat(megabyte), "FORMAT_OUT_OF_BOUNDS", /32768 elements/);
    assertRefused(`<a ${'b="c" '.repeat(megabyte / 2)}/>`, "FORMAT_OUT_OF_BOUNDS", /32768 elements/);
    assertRefused(`<a>${"<".repeat(30_000)}${"x".repeat(megabyte)}`, "FORMAT_INVALID", /well-formed XML: ".{0,103}"$/);
    assertRefused("<a>".repeat(5000) + "</a>".repeat(5000), "FORMAT_INVALID", /well-formed/);
    assertRefused(`<a ${'b="c" '.repeat(1000)}/>`, "FORMAT_INVALID", /well-formed/);
    assertRefused(`<a>${"<!--".repeat(1000)}`, "FORMAT_INVALID", /well-formed/);
    assertRefused('<Envelope><__proto__ a="b"/></Envelope', "FORMAT_INVALID", /well-formed/);
    assert.deepEqual(
      parseOvf(Buffer.from(one('ovf:diskId="&#1114112;&amp;amp;"'))).map(({ id }) => id),
      ["&#1114112;&amp;"],
    );
  });
});
