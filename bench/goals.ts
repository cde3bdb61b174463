/**
 * What decant is to show: the works, whom each is compared with, and by how much decant is to be faster. `npm run bench` races
 * every row and says which goals hold.
 */
export const PLACES = ["local", "http", "http 20 ms", "registry"] as const;
/** Where the image lies; `http 20 ms`: so long takes a question with its answer. */
export type Place = (typeof PLACES)[number];

export interface Row {
  /** A file of the corpus; in a registry what the layer holds. */
  readonly image: string;
  readonly place: Place;
  /** The line that decant is compared with, by its name in cmd/bench/peers.ts or limits.ts. */
  readonly line: string;
  readonly goal: Goal;
  /** decant's CPU seconds by the line's. */
  readonly cpuAtMost: number;
  /** Bytes that the image itself makes a decoder keep. */
  readonly window: number;
  /** With --quick too. */
  readonly isQuick: boolean;
}

/** `ratio`: the line's seconds by decant's, at least; `seconds`: decant's, below. */
export type Goal = { readonly ratio: number } | { readonly seconds: number };

/** decant over the image whose content an image of 1 TiB holds. */
export const DATA_ALONE = "decant over the data alone";
/** "The same time", where two runs of one program differ by a tenth. */
const SAME_TIME = 1.2;

const LOCAL = "qemu-img -W -m 16";
const HTTP = "nbdkit + qemu-img -W -m 16";
const FAR = "nbdkit + qemu-img";
const REGISTRY = "skopeo + tar + qemu-img -W -m 16";

const CPU_LOCAL = 1;
const CPU_NETWORK = 1.5;

/** Of `zstd -3` and `xz -2`. */
const WINDOW = 2 * 2 ** 20;

/** Resident bytes with two threads, and what each further one may add. */
const MEMORY = 150e6;
const MEMORY_PER_THREAD = 12e6;

/** `decant --version`. */
export const START_SECONDS = 0.08;

type Extra = Partial<Pick<Row, "line" | "cpuAtMost" | "window">>;
type QuickOrNot = "quick" | "full";

function row(when: QuickOrNot, image: string, place: Place, goal: number | Goal, extra: Extra = {}): Row {
  return {
    image,
    place,
    line: { local: LOCAL, http: HTTP, "http 20 ms": FAR, registry: REGISTRY }[place],
    goal: typeof goal === "number" ? { ratio: goal } : goal,
    cpuAtMost: place === "local" ? CPU_LOCAL : CPU_NETWORK,
    window: 0,
    isQuick: when === "quick",
    ...extra,
  };
}

export const ROWS: readonly Row[] = [
  row("quick", "plain.qcow2", "local", 1.2),
  row("full", "plain-2m.qcow2", "local", 1.2),
  row("full", "half.qcow2", "local", 1.2),
  row("full", "full.qcow2", "local", 1.2),
  row("quick", "zlib.qcow2", "local", 2.5),
  row("full", "zlib-2m.qcow2", "local", 2.5),
  row("full", "half-zlib.qcow2", "local", 2.5),
  row("full", "full-zlib.qcow2", "local", 2.5),
  row("quick", "zstd.qcow2", "local", 1.5),
  row("full", "zstd-2m.qcow2", "local", 1.5),
  row("quick", "stream-optimized.vmdk", "local", 2.5),
  row("quick", "sparse.vmdk", "local", 1.2),
  row("quick", "dynamic.vhdx", "local", 1.2),
  row("quick", "dynamic.vhd", "local", 1.2),
  row("quick", "dynamic.vdi", "local", 1.2),
  row("quick", "plain.qcow2", "http", 1.5),
  row("quick", "zlib.qcow2", "http", 3),
  row("quick", "zstd.qcow2", "http", 2),
  row("quick", "disk.raw", "http", 2, { line: "nbdkit + nbdcopy" }),
  row("quick", "raw.gz", "http", 3, { line: "curl | igzip | dd conv=sparse" }),
  row("quick", "raw.zst", "http", 1.2, { line: "curl | zstd --sparse", window: WINDOW }),
  row("quick", "qcow2.xz", "http", 1, { line: "curl | xz to nothing", window: WINDOW }),
  row("quick", "blocks.qcow2.xz", "http", 1.8, { line: "curl | xz to nothing", window: WINDOW }),
  row("quick", "plain.qcow2", "http 20 ms", 5),
  row("full", "zlib.qcow2", "http 20 ms", 5),
  row("full", "zstd.qcow2", "http 20 ms", 5),
  row("full", "stream-optimized.vmdk", "http 20 ms", 5),
  row("full", "sparse.vmdk", "http 20 ms", 5),
  row("quick", "plain.qcow2", "registry", 3),
  row("full", "zlib.qcow2", "registry", 3),
  row("full", "empty.qcow2", "local", { seconds: 1 }),
  row("quick", "empty-15t.qcow2", "local", { seconds: 1 }),
  row("quick", "spread-1t.qcow2", "local", 1 / SAME_TIME, { line: DATA_ALONE, cpuAtMost: SAME_TIME }),
];

/** As `--only` and the tables have it. */
export function nameOf({ image, place }: Pick<Row, "image" | "place">): string {
  return `${image} ${place}`;
}

/** @param threads decant's */
export function memoryBound({ window }: Pick<Row, "window">, threads: number): number {
  return MEMORY + Math.max(0, threads - 2) * MEMORY_PER_THREAD + window;
}

/** @param only parts of names; a row is chosen if one of them is in its own */
export function chooseRows(rows: readonly Row[], isQuick: boolean, only: readonly string[]): Row[] {
  const chosen = rows.filter((one) => only.some((part) => nameOf(one).includes(part)));
  // Whoever names a row wants it.
  return only.every((part) => part === "") ? chosen.filter((one) => one.isQuick || !isQuick) : chosen;
}
