/**
 * xz: streams one after the other, padding between and behind them.
 *
 * The memory that a file asks for is compared with the limit from its headers, before it is spent: by liblzma, or by the
 * walker that runs ahead of the portable decoder.
 * @see "The .xz File Format" 1.2.0
 */
import type { ByteStream } from "../byte-stream.ts";
import { hasMagic } from "../bytes.ts";
import type { Codec, DecodeOptions } from "./codec.ts";
import { DecodingStream } from "./decoding-stream.ts";
import { openLiblzma } from "./system/liblzma.ts";
import { PortableXz } from "./portable-xz.ts";

export const xz: Codec = {
  name: "xz",
  probe: (head) => hasMagic(head, "\u00fd7zXZ\0"),
  decode(input: ByteStream, options: DecodeOptions): ByteStream {
    const native = options.decoders === "auto" ? openLiblzma()?.streamDecoder(options.memoryLimit) : undefined;
    return new DecodingStream(input, native ?? new PortableXz(options.memoryLimit));
  },
};
