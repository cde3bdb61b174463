/**
 * XML for the OVF descriptor: a library parses, this file keeps it from what XML lets a hostile document do.
 *
 * No document types, so no entities but XML's own five and character references, which are decoded here; a bounded
 * depth; whatever the library throws becomes a FormatError.
 */
import { createRequire } from "node:module";
import { FormatError } from "../errors.ts";
import { quoted } from "./shown-names.ts";

/** Envelope, section, item, property: real descriptors nest 6 deep. */
const MAX_DEPTH = 64;

/**
 * `<` and `=` in a document, so elements and attributes; real descriptors have some hundreds. 400,000 elements in 4 MiB,
 * without this limit, took the library 19 s and 1 GB.
 */
const MAX_MARKUP = 32_768;

const LESS_THAN = 0x3c;
const EQUALS = 0x3d;

/** Attributes under `:` and their name, child elements in arrays under theirs, text under `#`. */
export type XmlNode = Readonly<Record<string, unknown>>;

const ATTRIBUTE = ":";
const TEXT = "#";

/**
 * Parses a document.
 * @param xml UTF-8; its length is bounded by the caller
 * @throws FormatError FORMAT_INVALID if it is not well-formed or too deep, FORMAT_UNSUPPORTED for a document type,
 *         FORMAT_OUT_OF_BOUNDS for too many elements or attributes
 */
export function parseXml(xml: Uint8Array): XmlNode {
  if (countOf(xml, LESS_THAN) > MAX_MARKUP || countOf(xml, EQUALS) > MAX_MARKUP) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the OVF descriptor has more than ${MAX_MARKUP} elements or attributes`,
    );
  }
  const text = new TextDecoder().decode(xml);
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) {
    throw new FormatError("FORMAT_UNSUPPORTED", "the OVF descriptor declares a document type");
  }
  const { XMLParser, XMLValidator } = loadParser();
  try {
    const valid = XMLValidator.validate(text);
    if (valid !== true) throw new Error(valid.err.msg);
    return new XMLParser({
      attributeNamePrefix: ATTRIBUTE,
      ignoreAttributes: false,
      isArray: (_name, _path, _isLeaf, isAttribute) => !isAttribute,
      maxNestedTags: MAX_DEPTH,
      parseTagValue: false,
      processEntities: false,
      textNodeName: TEXT,
    }).parse(text) as XmlNode;
  } catch (error) {
    throw notWellFormed(error);
  }
}

/** Loaded for the first OVA only: it takes 9 MB, and 40 ms of every start. */
function loadParser(): typeof import("fast-xml-parser") {
  return createRequire(import.meta.url)("fast-xml-parser") as typeof import("fast-xml-parser");
}

/** Without the cause: the library's messages quote the document, megabytes of it. */
function notWellFormed(error: unknown): FormatError {
  const reason = error instanceof Error ? quoted(error.message) : "unknown";
  return new FormatError("FORMAT_INVALID", `the OVF descriptor is not well-formed XML: ${reason}`);
}

function countOf(bytes: Uint8Array, wanted: number): number {
  let count = 0;
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) count++;
  return count;
}

/** Elements by their local name: every tool has its own prefixes. */
export function children(node: XmlNode, name: string): XmlNode[] {
  const found = Object.entries(node).filter(([key]) => !key.startsWith(ATTRIBUTE) && localName(key) === name);
  return found.flatMap(([, value]) => (Array.isArray(value) ? (value as unknown[]) : [])).filter(isNode);
}

function isNode(value: unknown): value is XmlNode {
  return typeof value === "object" && value !== null;
}

/** The text of the first such element, without the blanks around it; undefined if there is none, or it has elements only. */
export function childText(node: XmlNode, name: string): string | undefined {
  const key = Object.keys(node).find((candidate) => !candidate.startsWith(ATTRIBUTE) && localName(candidate) === name);
  const values: unknown = key === undefined ? undefined : node[key];
  const first: unknown = Array.isArray(values) ? values[0] : undefined;
  const text = isNode(first) ? first[TEXT] : first;
  return typeof text === "string" ? decodeEntities(text) : undefined;
}

/** An attribute by its local name; OVF's own before one of another namespace (`vbox:format`). */
export function attribute(node: XmlNode, name: string): string | undefined {
  const other = Object.keys(node).find((key) => key.startsWith(ATTRIBUTE) && localName(key.slice(1)) === name);
  const value =
    node[`${ATTRIBUTE}ovf:${name}`] ?? node[ATTRIBUTE + name] ?? (other === undefined ? undefined : node[other]);
  return typeof value === "string" ? decodeEntities(value) : undefined;
}

function localName(name: string): string {
  return name.slice(name.lastIndexOf(":") + 1);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));/g, (whole, decimal, hex, name) => {
    if (typeof name === "string") return ENTITIES[name] ?? whole;
    const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code <= 0x10_ffff ? String.fromCodePoint(code) : whole;
  });
}
