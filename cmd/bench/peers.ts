/**
 * Who else pours images: the programs that people use instead of decant, and the line for each kind of source. Every line
 * ends with its target safely on the disk, as decant's does by itself.
 *
 * A line is for `sh`. $SOURCE is the image, $TARGET what to write, $SCRATCH an empty folder, $SIZE the disk's bytes; names
 * are never part of its text. nbdkit hands $uri to the line that it runs.
 */
import type { Entry, LeftOut } from "./bench-report.ts";
import type { SinkKind } from "./sink.ts";

/** What a line has to read. */
export interface Subject {
  readonly place: "file" | "http" | "registry" | "oci-archive" | "elsewhere";
  /** On the machine itself. */
  readonly isLoopback: boolean;
  readonly wrappers: readonly string[];
  readonly format: string;
  /** Bytes; null where only its end tells. */
  readonly virtualSize: number | null;
}

export interface Contender extends Pick<Entry, "name" | "peer"> {
  readonly line: string;
  /** The same into a file: for a target that keeps nothing to compare. */
  readonly fileLine: string;
  /** False: it decodes and writes no disk. */
  readonly writesDisk: boolean;
}

type Line = Omit<Contender, "fileLine">;

interface Peer {
  /** Debian's package for each program that it needs. */
  readonly tools: Readonly<Record<string, string>>;
  /** Its lines, or why it has none. */
  readonly lines: (subject: Subject, sink: SinkKind) => readonly Line[] | string;
}

const QEMU_IMG = { "qemu-img": "qemu-utils" } as const;
const NBDKIT = { nbdkit: "nbdkit" } as const;

/** No range of characters in a URL is a pattern, and no server leads to a file. */
const CURL = `curl -sSfgL --proto =http,https --url "$SOURCE"`;

const PEERS: Readonly<Record<string, Peer>> = {
  "qemu-img": { tools: QEMU_IMG, lines: qemuImgLines },
  nbdkit: { tools: { ...NBDKIT, ...QEMU_IMG }, lines: nbdkitLines },
  nbdcopy: { tools: { nbdcopy: "libnbd-bin", ...NBDKIT }, lines: nbdcopyLines },
  igzip: { tools: { igzip: "isal" }, lines: decoderLines("igzip", "gzip") },
  gzip: { tools: { gzip: "gzip" }, lines: decoderLines("gzip", "gzip") },
  zstd: { tools: { zstd: "zstd" }, lines: decoderLines("zstd", "zstd") },
  xz: { tools: { xz: "xz-utils" }, lines: decoderLines("xz", "xz") },
  skopeo: { tools: { skopeo: "skopeo", tar: "tar", ...QEMU_IMG }, lines: skopeoLines },
};

/** What `--peers` may name. */
export const PEER_NAMES: readonly string[] = Object.keys(PEERS);

/** Every program that a line starts, for their versions. */
export const PEER_TOOLS: readonly string[] = [
  ...new Set(Object.values(PEERS).flatMap(({ tools }) => Object.keys(tools))),
];

/** @param asked undefined: all of them */
export function choosePeers(
  subject: Subject,
  sink: SinkKind,
  asked: readonly string[] | undefined,
  hasTool: (name: string) => boolean,
): { readonly contenders: readonly Contender[]; readonly leftOut: readonly LeftOut[] } {
  const contenders: Contender[] = [];
  const leftOut: LeftOut[] = [];
  for (const [peer, { tools, lines }] of Object.entries(PEERS)) {
    if (asked !== undefined && !asked.includes(peer)) continue;
    const found = lines(subject, sink);
    const missing = Object.entries(tools).filter(([tool]) => !hasTool(tool));
    if (typeof found === "string") leftOut.push({ peer, reason: found });
    else if (missing.length === 0) contenders.push(...withFileLines(found, lines(subject, "file")));
    else leftOut.push({ peer, reason: notInstalled(missing) });
  }
  return { contenders, leftOut };
}

/** @param files the same contenders, in the same order */
function withFileLines(found: readonly Line[], files: readonly Line[] | string): Contender[] {
  return found.map((one, at) => {
    const file = typeof files === "string" ? undefined : files[at];
    if (file === undefined) throw new Error(`${one.name} cannot write a file`);
    return { ...one, fileLine: file.line };
  });
}

function notInstalled(missing: readonly (readonly [tool: string, packageName: string])[]): string {
  const [tools, packages] = [missing.map(([tool]) => tool), missing.map(([, name]) => name)];
  return `not installed: apt-get install ${packages.join(" ")}${tools.join() === packages.join() ? "" : ` brings ${tools.join(", ")}`}`;
}

function contender(peer: string, name: string, line: string): Line {
  return { peer, name, line, writesDisk: true };
}

/** qemu-img twice: as everybody calls it, and as it is fastest. */
function qemuImgTwice(peer: string, name: string, wrap: (convert: string) => string, convert: Convert): Line[] {
  return ["", " -W -m 16"].map((options) => contender(peer, `${name}${options}`, wrap(convert(options))));
}

type Convert = (options: string) => string;

/** The call of qemu-img that reads an image of this format. */
function qemuConvert({ format }: Subject, sink: SinkKind, image: string): Convert {
  return (options) =>
    sink === "null"
      ? `qemu-img convert -n${options} -f ${format} --target-image-opts ${image} "driver=null-co,size=$SIZE"`
      : `qemu-img convert${options} -f ${format} -O raw ${image} "$TARGET" && sync "$TARGET"`;
}

/** Why qemu-img cannot write it to nothing. */
function sizeUnknown({ virtualSize }: Subject, sink: SinkKind): string | undefined {
  return sink === "null" && virtualSize === null ? "needs the disk's size beforehand" : undefined;
}

function qemuImgLines(subject: Subject, sink: SinkKind): readonly Line[] | string {
  if (subject.place !== "file") return "for local files";
  if (subject.wrappers.length > 0) return "unpacks nothing";
  const convert = qemuConvert(subject, sink, `"$SOURCE"`);
  return qemuImgTwice("qemu-img", "qemu-img", (line) => line, convert);
}

function nbdkitLines(subject: Subject, sink: SinkKind): readonly Line[] | string {
  if (subject.place !== "http") return "for web servers";
  if (subject.wrappers.length > 0) return "unpacks nothing";
  const convert = qemuConvert(subject, sink, `"$uri"`);
  return qemuImgTwice("nbdkit", "nbdkit + qemu-img", (line) => `nbdkit curl url="$SOURCE" --run '${line}'`, convert);
}

function nbdcopyLines({ place, wrappers, format }: Subject, sink: SinkKind): readonly Line[] | string {
  if (place !== "http" && place !== "file") return "for local files and web servers";
  if (format !== "raw" || wrappers.length > 0) return "for raw disks";
  const target = sink === "null" ? "null:" : `--flush "$TARGET"`;
  if (place === "file") return [contender("nbdcopy", "nbdcopy", `nbdcopy "$SOURCE" ${target}${synced(sink)}`)];
  const line = `nbdkit curl url="$SOURCE" --run 'nbdcopy "$uri" ${target}${synced(sink)}'`;
  return [contender("nbdcopy", "nbdkit + nbdcopy", line)];
}

/** A decoder, and what writes the disk behind it. */
function decoderLines(tool: "igzip" | "gzip" | "zstd" | "xz", wrapper: string): Peer["lines"] {
  return (subject, sink) => {
    const { place, wrappers, format } = subject;
    if (place !== "http" && place !== "file") return "for local files and web servers";
    if (wrappers.length !== 1 || wrappers[0] !== wrapper) return `for what is packed with ${wrapper} once`;
    const decode = `${tool} -dc`;
    const from = place === "file" ? `${decode} "$SOURCE"` : `${CURL} | ${decode}`;
    const name = place === "file" ? tool : `curl | ${tool}`;
    if (format === "raw") return [writeRaw(tool, name, from, sink)];
    const unknown = sizeUnknown(subject, sink);
    if (unknown !== undefined) return unknown;
    const image = `"$SCRATCH/image"`;
    const convert = qemuConvert(subject, sink, image);
    return [
      ...qemuImgTwice(tool, `${name}; qemu-img`, (line) => `${from} > ${image} && ${line}`, convert).slice(1),
      { ...contender(tool, `${name} to nothing`, `${from} > /dev/null`), writesDisk: false },
    ];
  };
}

/** zstd leaves out what is zero, as decant does; for others dd does. A device keeps what was there, so it gets all. */
function writeRaw(tool: string, name: string, from: string, sink: SinkKind): Line {
  if (sink === "null") return contender(tool, name, `${from} > /dev/null`);
  if (tool === "zstd") {
    const sparse = sink === "file" ? "--sparse" : "--no-sparse";
    const line = from.replace("zstd -dc", `zstd -q -d ${sparse} -c`);
    return contender(tool, `${name} ${sparse}`, `${line} > "$TARGET" && sync "$TARGET"`);
  }
  const sparse = sink === "file" ? " conv=sparse" : "";
  const write = `dd of="$TARGET" bs=64K iflag=fullblock${sparse} status=none`;
  return contender(tool, `${name} | dd${sparse}`, `${from} | ${write} && sync "$TARGET"`);
}

function skopeoLines(subject: Subject, sink: SinkKind): readonly Line[] | string {
  const { place, wrappers, isLoopback } = subject;
  if (place !== "registry" && place !== "oci-archive") return "for container images";
  if (wrappers.length > 0) return "unpacks layers and nothing else";
  const unknown = sizeUnknown(subject, sink);
  if (unknown !== undefined) return unknown;
  // A registry on this machine may speak plain http, for decant as well.
  const plain = isLoopback ? " --src-tls-verify=false" : "";
  const unpack = `for blob in "$SCRATCH"/image/*; do tar -xf "$blob" -C "$SCRATCH" --no-same-owner disk ./disk 2> /dev/null; done`;
  const line = (convert: string): string =>
    `skopeo copy -q${plain} "$SOURCE" "dir:$SCRATCH/image" && { ${unpack}; set -- "$SCRATCH"/disk/*; ${convert}; }`;
  return qemuImgTwice("skopeo", "skopeo + tar + qemu-img", line, qemuConvert(subject, sink, `"$1"`)).slice(1);
}

function synced(sink: SinkKind): string {
  return sink === "null" ? "" : ` && sync "$TARGET"`;
}
