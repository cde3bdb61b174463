/**
 * node:http for those who need a table or a check of it, and no client.
 *
 * An import of it as a module asks for everything that it exports, and so loads a second client (undici): 75 ms of CPU in each
 * thread on a busy machine, where 10 ms do.
 */
type NodeHttp = typeof import("node:http");

export function nodeHttp(): NodeHttp {
  return process.getBuiltinModule("node:http");
}
