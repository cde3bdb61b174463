/**
 * Conditions of any kind of object, and when they changed. A condition that says what it said before is taken over as it is,
 * times included, so that nothing is written for it.
 */
import type { Condition } from "../api/cdi.ts";
import { timeText } from "../api/time.ts";

/** A condition before it is known when it changed. Reason and message are absent where there is nothing to say, never empty. */
export type Finding = Pick<Condition, "type" | "status" | "reason" | "message">;

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((one) => one.type === type);
}

/** Equal in all but times. An empty text is none. */
export function saysTheSame(a: Finding | undefined, b: Finding | undefined): boolean {
  const same = (key: "reason" | "message"): boolean => (a?.[key] ?? "") === (b?.[key] ?? "");
  return a?.status === b?.status && same("reason") && same("message");
}

/** @param before the object's conditions, of all types */
export function withTimes(found: Finding, before: readonly Condition[] | undefined, now: Date): Condition {
  const last = findCondition(before, found.type);
  if (last !== undefined && saysTheSame(last, found)) return last;
  const time = timeText(now);
  const isTransition = last?.status !== found.status;
  const lastTransitionTime = isTransition ? time : (last.lastTransitionTime ?? time);
  return { ...found, lastTransitionTime, lastHeartbeatTime: time };
}

/**
 * The whole list, which is one value to a merge patch: conditions of other types are somebody else's, and stay.
 * @param before as for withTimes
 */
export function conditionsWith(
  own: readonly Finding[],
  before: readonly Condition[] | undefined,
  now: Date,
): readonly Condition[] {
  const others = before?.filter(({ type }) => own.every((found) => found.type !== type)) ?? [];
  return [...own.map((found) => withTimes(found, before, now)), ...others];
}
