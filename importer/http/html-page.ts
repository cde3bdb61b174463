/**
 * Recognises a web page: what a download link gives to those who are not logged in, with status 200.
 *
 * Blanks, a byte order mark, an XML declaration and comments may stand before its first element. They are stepped over one
 * at a time: one expression for all of them takes for ever on a hostile start.
 */

/** How much of the start is looked at. */
export const PAGE_HEAD_LENGTH = 1024;

/** No disk and no wrapper starts with any of it. */
const FIRST_ELEMENT = /^<(?:!doctype\s+html|html|head|body)[\s>]/i;

/** What comes before it, and how it ends. */
const PRELUDE = [
  { start: "<?xml", end: "?>" },
  { start: "<!--", end: "-->" },
] as const;

/** @param head the first bytes, as many as there are */
export function isHtmlPage(head: Uint8Array): boolean {
  let text = Buffer.from(head.subarray(0, PAGE_HEAD_LENGTH)).toString("utf8").trimStart();
  for (;;) {
    const part = PRELUDE.find(({ start }) => text.startsWith(start));
    if (part === undefined) return FIRST_ELEMENT.test(text);
    const end = text.indexOf(part.end, part.start.length);
    if (end === -1) return false;
    text = text.slice(end + part.end.length).trimStart();
  }
}
