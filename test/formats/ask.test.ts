import assert from "node:assert/strict";
import { it } from "node:test";
import { ask } from "../../formats/ask.ts";

it("asks once and returns what it was sent, and nothing else", () => {
  const need = { offset: 3, length: 2 };
  const asking = ask(need);
  assert.deepEqual(asking.next(), { done: false, value: need });
  const bytes = new Uint8Array(2);
  assert.equal(asking.next(bytes).value, bytes);

  const unanswered = ask(need);
  unanswered.next();
  assert.throws(() => unanswered.next(undefined), /need at 3/);
});
