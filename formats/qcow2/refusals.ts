/**
 * Images that are valid and are refused all the same, each by name and with what to do about it.
 *
 * A backing file or an external data file would make the image's author choose which file of this machine ends up on the
 * disk; encrypted clusters would be poured as noise; an unknown incompatible feature may change what any byte means.
 */
import { ascii } from "../bytes.ts";
import { FormatError } from "../errors.ts";

const EXTERNAL_DATA_FILE = 4;
const BACKING_NAME_SHOWN = 128;
const PROTOCOL = /^[a-z][a-z0-9+.-]*:/i;

export function refuseVersion(version: number): FormatError {
  const name = version === 1 ? "qcow version 1" : `qcow2 version ${version}`;
  return unsupported(
    `${name} cannot be read, only versions 2 and 3`,
    "Convert the image with qemu-img convert -O qcow2 first.",
  );
}

/** @param name the backing file's, as the header has it; empty where it lies outside the bytes that were read */
export function refuseBackingFile(name: Uint8Array): FormatError {
  return unsupported(
    `the image is only an overlay of the backing file ${describeBackingName(name)}, whose contents it lacks`,
    "Merge the chain into one image with qemu-img convert -O qcow2, where the backing file is, and use the result.",
  );
}

export function refuseEncryption(method: number): FormatError {
  const name = method === 1 ? "AES" : method === 2 ? "LUKS" : `method ${method}`;
  return unsupported(
    `the image is encrypted (${name}), and reading it would need the key`,
    "Decrypt it with qemu-img convert --object secret,... into an image without encryption first.",
  );
}

/**
 * @param low   refused bits 0 to 31 of incompatible_features; bit 2 is known
 * @param high  bits 32 to 63, all of them unknown
 * @param names from the feature name table
 */
export function refuseIncompatible(low: number, high: number, names: ReadonlyMap<number, string>): FormatError {
  if ((low & EXTERNAL_DATA_FILE) !== 0) {
    return unsupported(
      "the image keeps its clusters in an external data file (incompatible feature bit 2), which is not read",
      "Merge both into one image with qemu-img convert -O qcow2, where the data file is, and use the result.",
    );
  }
  const features: string[] = [];
  for (let bit = 0; bit < 64; bit++) {
    if (((bit < 32 ? low : high) & (1 << (bit % 32))) === 0) continue;
    const name = names.get(bit);
    features.push(name === undefined || name === "" ? `bit ${bit}` : `"${name}" (bit ${bit})`);
  }
  return unsupported(
    `the image uses incompatible features that are not known: ${features.join(", ")}`,
    "Convert it with the program that wrote it, or a recent qemu-img convert -O qcow2 -o compat=1.1.",
  );
}

/** At most `limit` characters of bytes of an image, with everything but printable ASCII replaced. */
export function printable(bytes: Uint8Array, limit: number): string {
  const text = ascii(bytes, 0, Math.min(bytes.length, limit)).replace(/[^\x20-\x7e]/g, "?");
  return bytes.length > limit ? `${text}...` : text;
}

function describeBackingName(bytes: Uint8Array): string {
  const text = printable(bytes, BACKING_NAME_SHOWN);
  // A URL or json: description may hold a password.
  const protocol = PROTOCOL.exec(text);
  return protocol === null ? `"${text}"` : `of protocol "${protocol[0].slice(0, -1)}"`;
}

function unsupported(message: string, remedy: string): FormatError {
  return new FormatError("FORMAT_UNSUPPORTED", message, { remedy, context: { format: "qcow2" } });
}
