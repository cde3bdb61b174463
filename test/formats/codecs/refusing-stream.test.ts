import assert from "node:assert/strict";
import { it } from "node:test";
import { refusingStream } from "../../../formats/codecs/refusing-stream.ts";
import { FormatError } from "../../../formats/errors.ts";
import { CountedInput } from "../../suites/codec.ts";

it("a refusing stream refuses each read, reads nothing, and closes its input once", async () => {
  const input = new CountedInput(new Uint8Array(10));
  const refusal = new FormatError("FORMAT_UNSUPPORTED", "not this one");
  const stream = refusingStream(input, refusal);
  for (let i = 0; i < 2; i++) assert.throws(() => stream.read(new Uint8Array(1)), refusal);
  await stream.close();
  await stream.close();
  assert.deepEqual([input.reads, input.closes], [0, 1]);
});
