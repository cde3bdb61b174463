/**
 * User and password for a host out of a netrc file, as curl, wget and git read it.
 *
 * Words with blanks between: `machine HOST`, `default`, `login`, `password`; `macdef` and what follows it up to an empty line
 * is for other programs. A word may be quoted ("…", with \" \\ \n \r \t in it); `#` where a word would begin
 * makes the rest of the line a comment, except after `login` and `password`. No text of the file is ever shown.
 */
import path from "node:path";
import type { BasicAuth } from "../importer/http/basic-auth.ts";
import { readSmallFile } from "./small-file.ts";

/** A file of a person's own. */
const MAX_NETRC_BYTES = 256 * 1024;

export interface Netrc {
  readonly file: string;
  /** Holds secrets. */
  readonly text: string;
  readonly isOpenToOthers: boolean;
}

/**
 * The file that was named, else that of the environment, else the one at home.
 * @returns undefined if none was named, and there is none or none that can be read
 * @throws UsageError for a named one that cannot be read
 */
export function findNetrc(
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Netrc | undefined {
  const { NETRC, HOME } = env;
  const usual = NETRC ?? (HOME === undefined ? undefined : path.join(HOME, ".netrc"));
  const file = named ?? usual;
  if (file === undefined || file === "") return undefined;
  try {
    const { bytes, isOpenToOthers } = readSmallFile(file, MAX_NETRC_BYTES);
    return { file, text: bytes.toString("utf8"), isOpenToOthers };
  } catch (error) {
    if (named !== undefined) throw error;
    return undefined;
  }
}

interface Entry {
  /** In lower case; undefined: `default`. */
  readonly machine: string | undefined;
  login?: string;
  password?: string;
}

/** A machine that is named goes before `default`; among equals the first that has a password. */
export function netrcAuth(text: string, host: string): BasicAuth | undefined {
  const entries = parseNetrc(text).filter(({ password }) => password !== undefined);
  const wanted = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const found =
    entries.find(({ machine }) => machine === wanted) ?? entries.find(({ machine }) => machine === undefined);
  return found === undefined ? undefined : { user: found.login ?? "", password: found.password ?? "" };
}

/** Words that it does not know are passed over, as curl does. @throws Error with a sentence that names a line, never its words */
function parseNetrc(text: string): Entry[] {
  const words = new Words(text);
  const entries: Entry[] = [];
  for (let word = words.next(); word !== undefined; word = words.next()) {
    const entry = entries.at(-1);
    const keyword = word.toLowerCase();
    if (keyword === "machine") entries.push({ machine: words.value().toLowerCase() });
    else if (keyword === "default") entries.push({ machine: undefined });
    else if (keyword === "macdef") words.skipMacro();
    else if (keyword === "login" && entry !== undefined) entry.login = words.value();
    else if (keyword === "password" && entry !== undefined) entry.password = words.value();
  }
  return entries;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

class Words {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Undefined at the end. Comments are stepped over. */
  next(): string | undefined {
    for (;;) {
      const word = this.#word();
      if (word?.startsWith("#") !== true) return word;
      this.#at = this.#text.indexOf("\n", this.#at - 1);
      if (this.#at === -1) this.#at = this.#text.length;
    }
  }

  /** What stands after a keyword: a password may begin with #. */
  value(): string {
    const start = this.#at;
    const word = this.#word();
    if (word === undefined) throw new Error(`line ${this.#lineOf(start)} ends where a word is missing`);
    return word;
  }

  skipMacro(): void {
    const end = /\n[ \t\r]*(?:\n|$)/g;
    end.lastIndex = this.#at;
    this.#at = end.exec(this.#text) === null ? this.#text.length : end.lastIndex;
  }

  #lineOf(offset: number): number {
    return this.#text.slice(0, offset).split("\n").length;
  }

  #word(): string | undefined {
    const blank = /\s*/y;
    blank.lastIndex = this.#at;
    blank.exec(this.#text);
    this.#at = blank.lastIndex;
    if (this.#at >= this.#text.length) return undefined;
    if (this.#text[this.#at] === '"') return this.#quoted();
    const word = /\S+/y;
    word.lastIndex = this.#at;
    const found = word.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #quoted(): string {
    const quoted = /"((?:[^"\\]|\\[^])*)"/y;
    quoted.lastIndex = this.#at;
    const found = quoted.exec(this.#text);
    if (found === null) throw new Error(`line ${this.#lineOf(this.#at)} begins a quoted word that has no end`);
    this.#at = quoted.lastIndex;
    return (found[1] ?? "").replaceAll(/\\([^])/g, (_, letter: string) => ESCAPES[letter] ?? letter);
  }
}
