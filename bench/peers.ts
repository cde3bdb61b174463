/**
 * Who races on which image: decant, and what people use instead. Every line ends with its target safely on the disk, as
 * decant's does by itself.
 *
 * A line is for `sh`, started in the project's root: $SOURCE is the image, $TARGET the raw file to write.
 */
export interface Contender {
  readonly name: string;
  readonly line: string;
  /** Must be on the PATH. */
  readonly tools: readonly string[];
}

const DECANT: Contender = {
  name: "decant",
  line: `sh bin/decant convert --progress none "$SOURCE" "$TARGET"`,
  tools: [],
};

const QEMU: readonly Contender[] = [
  {
    name: "qemu-img convert",
    line: `qemu-img convert -O raw "$SOURCE" "$TARGET" && sync "$TARGET"`,
    tools: ["qemu-img"],
  },
  {
    name: "qemu-img convert -W -m 16",
    line: `qemu-img convert -W -m 16 -O raw "$SOURCE" "$TARGET" && sync "$TARGET"`,
    tools: ["qemu-img"],
  },
];

/** For images that qemu-img cannot read. dd leaves out what is zero, as decant does; zstd does that itself. */
const OTHERS: Readonly<Record<string, readonly Contender[]>> = {
  "raw.gz": [
    {
      name: "igzip -dc | dd conv=sparse",
      line: `igzip -dc "$SOURCE" | dd of="$TARGET" bs=64K iflag=fullblock conv=sparse status=none && sync "$TARGET"`,
      tools: ["igzip"],
    },
    {
      name: "gzip -dc | dd conv=sparse",
      line: `gzip -dc "$SOURCE" | dd of="$TARGET" bs=64K iflag=fullblock conv=sparse status=none && sync "$TARGET"`,
      tools: ["gzip"],
    },
  ],
  "raw.zst": [
    {
      name: "zstd -d --sparse",
      line: `zstd -q -d --sparse "$SOURCE" -o "$TARGET" && sync "$TARGET"`,
      tools: ["zstd"],
    },
  ],
  "qcow2.xz": [
    {
      name: "xz -dc; qemu-img convert -W -m 16",
      line: `xz -dc "$SOURCE" > "$TARGET.qcow2" && qemu-img convert -W -m 16 -O raw "$TARGET.qcow2" "$TARGET" && rm "$TARGET.qcow2" && sync "$TARGET"`,
      tools: ["xz", "qemu-img"],
    },
  ],
};

/** Who runs on `image`, in turns; decant first. */
export function contendersFor(image: string, hasTool: (name: string) => boolean): Contender[] {
  const peers = OTHERS[image] ?? QEMU;
  return [DECANT, ...peers.filter((peer) => peer.tools.every(hasTool))];
}
