/**
 * Conditions, as the kinds here have them.
 */
import { list, moment, object, text } from "./schema.ts";
import type { Schema } from "./schema.ts";

const MAX_CONDITIONS = 32;
const MAX_MESSAGE = 32_768;

/** @param types for a reader of the description */
export function conditionsOf(types: string): Schema {
  const condition = object(
    {
      type: text(`${types}.`),
      status: text("True, False or Unknown."),
      lastTransitionTime: moment("When status changed last."),
      lastHeartbeatTime: moment("When anything changed last."),
      reason: text("One word for a program."),
      message: text("A sentence for a person.", { maxLength: MAX_MESSAGE }),
    },
    { required: ["type", "status"] },
  );
  return list(condition, "What is the case now, and why.", { maxItems: MAX_CONDITIONS });
}
