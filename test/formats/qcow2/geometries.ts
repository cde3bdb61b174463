/** Geometries of disks that no file holds, for tests of single tables. */
import { geometryOf } from "../../../formats/qcow2/geometry.ts";
import type { Geometry } from "../../../formats/qcow2/geometry.ts";
import type { Header } from "../../../formats/qcow2/header.ts";

/** A version 3 image of 1 GiB in 64 KiB clusters in a stream, but for what `fields` and `hostSize` say. */
export function someGeometry(fields: Partial<Header> = {}, hostSize?: number): Geometry {
  const header: Header = {
    version: 3,
    clusterBits: 16,
    size: 2 ** 30,
    l1Size: 100,
    l1TableOffset: 65536,
    refcountTableOffset: 0,
    refcountTableClusters: 0,
    snapshotCount: 0,
    compression: "zlib",
    extendedL2: false,
    dirty: false,
    corrupt: false,
    lazyRefcounts: false,
    extensions: { incompatibleNames: new Map(), bitmapCount: 0 },
    lengthRead: 65536,
    ...fields,
  };
  return geometryOf(header, hostSize);
}
