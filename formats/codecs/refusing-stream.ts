/** The decoded stream of a codec that is known by name only: its first read refuses. */
import type { ByteStream } from "../byte-stream.ts";
import type { FormatError } from "../errors.ts";

export function refusingStream(input: ByteStream, refusal: FormatError): ByteStream {
  let closed: void | Promise<void>;
  let isClosed = false;
  return {
    read() {
      throw refusal;
    },
    close() {
      if (!isClosed) closed = input.close();
      isClosed = true;
      return closed;
    },
  };
}
