import assert from "node:assert/strict";
import { it } from "node:test";
import { bindOr, openLibrary } from "../../../../formats/codecs/system/koffi.ts";

const libc = openLibrary(["libnothing.so.1", "libc.so.6"]);

it(
  "the first library that opens is used, and the address of a buffer is that of its bytes",
  { skip: libc === undefined && "needs koffi and glibc" },
  () => {
    assert.equal(libc?.soname, "libc.so.6");
    const memcpy = libc.handle.func("memcpy", "void *", ["void *", "void *", "size_t"]) as (...args: unknown[]) => void;
    const from = Uint8Array.of(1, 2, 3, 4, 5);
    for (const buffer of [new ArrayBuffer(8), new SharedArrayBuffer(8)]) {
      const into = new Uint8Array(buffer, 2, 4);
      memcpy(libc.address(into) + 1n, libc.address(from.subarray(2)), 3);
      assert.deepEqual([...new Uint8Array(buffer)], [0, 0, 0, 3, 4, 5, 0, 0]);
    }
  },
);

it(
  "a function that the library does not have is undefined",
  { skip: libc === undefined && "needs koffi and glibc" },
  () => {
    assert.equal(
      bindOr(() => libc?.handle.func("no_such_function", "int", [])),
      undefined,
    );
  },
);
