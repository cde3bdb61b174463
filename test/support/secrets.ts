/**
 * Secrets that can be found again, however they are written: each holds one word, which is looked for as it is, in base64 at
 * any place of a longer text, in hexadecimal, and in what is cut off in the middle.
 */
import fs from "node:fs";
import path from "node:path";

/** In every secret of a test's own. Letters and digits: no encoding of URLs changes it. */
const WORD = "hunter2";

const FORMS: readonly string[] = [WORD, Buffer.from(WORD).toString("hex"), ...[0, 1, 2].map(inBase64)];

/** With all that URLs, headers and JSON write otherwise, and no blank. */
export function secretFor(what: string): string {
  return `${WORD}/${what}+&="%41`;
}

/** The characters of base64 that the word alone decides where `before` bytes precede it. */
function inBase64(before: number): string {
  const whole = Buffer.from("x".repeat(before) + WORD).toString("base64");
  const end = Math.floor(((before + WORD.length) * 8) / 6);
  return whole.slice(Math.ceil((before * 8) / 6), end);
}

/**
 * Where secrets are in `text`, with what is around them.
 * @param others that do not hold the word
 */
export function secretsIn(text: string, others: readonly string[] = []): string[] {
  return [...FORMS, ...others].flatMap((form) => {
    const at = text.indexOf(form);
    return at === -1 ? [] : [text.slice(Math.max(0, at - 100), at + form.length + 100)];
  });
}

/** Names and contents of everything in a folder. */
export function allTextIn(folder: string): string {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .map((entry) => {
      const place = path.join(entry.parentPath, entry.name);
      return `${place}\n${entry.isFile() ? fs.readFileSync(place, "latin1") : ""}\n`;
    })
    .join("");
}
