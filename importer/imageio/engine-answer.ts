/**
 * What an oVirt engine answers, out of the XML of its REST API version 4: a disk, an image transfer, a fault.
 *
 * XML, because the official clients speak nothing else, and some stand-ins of an engine neither. Every field is a stranger's:
 * what is missing or odd is undefined here, and refused with a name by those who need it.
 */
import { attribute, children, childText, parseXml } from "../../formats/archives/xml.ts";
import type { XmlNode } from "../../formats/archives/xml.ts";
import { FormatError } from "../../formats/errors.ts";

export interface TransferState {
  readonly id: string;
  /** As the engine calls it, `transferring` for instance. */
  readonly phase: string;
  /** Where the image is served. A secret; undefined until there is a place. */
  readonly url: string | undefined;
}

/** Of a transfer; it becomes part of a URL. Real ones are UUIDs. */
const TRANSFER_ID = /^[\w-]{1,100}$/;

const PHASE = /^[a-z_]{1,40}$/;

export function hasDisk(answer: Uint8Array): boolean {
  return elementOf(answer, "disk") !== undefined;
}

/** Undefined: the answer is something else. */
export function parseTransfer(answer: Uint8Array): TransferState | undefined {
  const node = elementOf(answer, "image_transfer");
  if (node === undefined) return undefined;
  const id = attribute(node, "id") ?? "";
  const phase = childText(node, "phase") ?? "";
  if (!TRANSFER_ID.test(id) || !PHASE.test(phase)) return undefined;
  return { id, phase, url: childText(node, "transfer_url") ?? childText(node, "proxy_url") };
}

/** Why the engine will not, in its own words; empty where it gives none. */
export function faultOf(answer: Uint8Array): string {
  const node = elementOf(answer, "fault");
  if (node === undefined) return "";
  return [childText(node, "reason"), childText(node, "detail")].filter((text) => text !== undefined).join(": ");
}

/** The element that the document is; undefined also for what is no XML at all. */
function elementOf(answer: Uint8Array, name: string): XmlNode | undefined {
  try {
    const document = parseXml(answer);
    return children(document, name)[0];
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}
