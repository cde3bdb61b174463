/**
 * Standard input, written `-`: passes once.
 */
import { DescriptorStream } from "./descriptor-stream.ts";
import type { Source } from "./source.ts";

const STDIN = 0;

export function openStandardInput(): Source {
  const name = "standard input";
  const stream = new DescriptorStream(STDIN, name);
  return {
    name,
    path: "/proc/self/fd/0",
    size: undefined,
    file: undefined,
    stream: () => stream,
    close: () => stream.close(),
  };
}
