import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isHtmlPage } from "../../../importer/http/html-page.ts";

describe("isHtmlPage", () => {
  it("knows the starts of pages", () => {
    for (const page of [
      "<!DOCTYPE html>",
      "<!doctype HTML PUBLIC",
      "\r\n  <html lang=en>",
      "\uFEFF<html>",
      '<?xml version="1.0"?>\n<!DOCTYPE html>',
      "<!-- a --> <!-- b --><head>",
      "<html\n>",
    ]) {
      assert.equal(isHtmlPage(Buffer.from(page)), true, page);
    }
  });

  it("takes nothing else for one", () => {
    const descriptor = "# Disk DescriptorFile\nversion=1\n";
    for (const other of [
      "",
      "<",
      "<htmlish>",
      descriptor,
      '<?xml version="1.0"?><Envelope>',
      "QFI\u00fb",
      "text <html>",
    ]) {
      assert.equal(isHtmlPage(Buffer.from(other)), false, other);
    }
    assert.equal(isHtmlPage(Buffer.alloc(4096)), false);
    assert.equal(
      isHtmlPage(Buffer.concat([Buffer.alloc(512), Buffer.from("<html>")])),
      false,
      "a disk with a page on it",
    );
  });

  it("is quick with what looks like one for ever", () => {
    const started = Date.now();
    for (const part of ["<!--", "<!---->", " ", "<?xml ", "<!-- -->"]) isHtmlPage(Buffer.from(part.repeat(10_000)));
    assert.ok(Date.now() - started < 500);
  });
});
