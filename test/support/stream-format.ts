/**
 * A format as a stream of unknown length sees it.
 */
import type { DiskFormat } from "../../formats/disk-format.ts";

/** `format`, but never told how long the file is. */
export function asStream(format: DiskFormat): DiskFormat {
  return { name: format.name, probe: (head, tail) => format.probe(head, tail), open: () => format.open(undefined) };
}
