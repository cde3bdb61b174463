/**
 * Whether a work's goals hold: one row of the table, from the figures of one race.
 */
import type { Entry, Figures, Work } from "../cmd/bench/bench-report.ts";
import { noteOf } from "../cmd/bench/result-table.ts";
import { memoryBound, nameOf } from "./goals.ts";
import type { Goal, Row } from "./goals.ts";
import { LIMIT } from "./limits.ts";

export interface Verdict {
  readonly row: string;
  /** Whom it is compared with. */
  readonly line: string;
  readonly goal: Goal;
  /** decant's; null: it failed. */
  readonly seconds: number | null;
  /** The line's seconds by decant's. */
  readonly ratio: number | null;
  /** Null: it cannot be told, for the line failed. */
  readonly held: boolean | null;
  readonly cpu: Checked;
  readonly memory: Checked;
  /** The ratio with portable decoders; null where nothing is decoded. */
  readonly portableRatio: number | null;
  /** The quickest of all peers that wrote the disk; above 1 decant was quicker. */
  readonly fastestPeer: { readonly name: string; readonly ratio: number } | null;
  readonly limits: readonly Limit[];
  /** Who failed, or wrote another disk. */
  readonly troubles: readonly string[];
  /** The machine's, over the minute before the race. */
  readonly load: number;
}

export interface Conditions {
  /** decant's. */
  readonly threads: number;
  readonly load: number;
}

/** A figure that is to be at most something; null: there is none. */
export interface Checked {
  readonly value: number | null;
  readonly atMost: number;
  readonly held: boolean | null;
}

export interface Limit {
  readonly name: string;
  readonly seconds: number;
}

export function judge(row: Row, work: Pick<Work, "entries">, { threads, load }: Conditions): Verdict {
  const { goal, line } = row;
  const [own, ...others] = work.entries;
  const peer = others.find(({ name }) => name === line);
  const seconds = own === undefined ? null : secondsOf(own);
  const ratio = ratioOf(peer, own, secondsOf);
  const portable = others.find((entry) => entry.peer === "decant");
  const isWrong = own === undefined || noteOf(own) !== undefined;
  const troubles = work.entries.map((entry) => ({ name: entry.name, note: noteOf(entry) }));
  return {
    row: nameOf(row),
    line,
    goal,
    seconds,
    ratio,
    held: isWrong ? false : isHeld(goal, seconds, ratio),
    cpu: checked(
      ratioOf(own, peer, (entry) => soundFigures(entry)?.cpuSeconds.median ?? null),
      row.cpuAtMost,
    ),
    memory: checked(own?.figures?.peakRssBytes.max ?? null, memoryBound(row, threads)),
    portableRatio: ratioOf(peer, portable, secondsOf),
    fastestPeer: fastest(others.filter(isPeerOfDisk), own),
    limits: others
      .filter((entry) => entry.peer === LIMIT && entry.name !== line)
      .map((entry) => ({ name: entry.name, seconds: secondsOf(entry) }))
      .filter((one): one is Limit => one.seconds !== null),
    troubles: troubles.filter(({ note }) => note !== undefined).map(({ name, note }) => `${name}: ${note}`),
    load,
  };
}

/** Of a work that could not even begin. */
export function cannotBegin(row: Row, reason: string, conditions: Conditions): Verdict {
  return { ...judge(row, { entries: [] }, conditions), troubles: [reason] };
}

function secondsOf(entry: Entry): number | null {
  return soundFigures(entry)?.seconds.median ?? null;
}

/** An entry that failed in its second run has figures of its first, and they are none. */
function soundFigures(entry: Entry): Figures | null {
  return noteOf(entry) === undefined ? entry.figures : null;
}

function ratioOf(
  over: Entry | undefined,
  under: Entry | undefined,
  of: (entry: Entry) => number | null,
): number | null {
  const [a, b] = [over, under].map((entry) => (entry === undefined ? null : of(entry)));
  return typeof a === "number" && typeof b === "number" && b > 0 ? a / b : null;
}

function isHeld(goal: Goal, seconds: number | null, ratio: number | null): boolean | null {
  if ("seconds" in goal) return seconds === null ? null : seconds < goal.seconds;
  return ratio === null ? null : ratio >= goal.ratio;
}

export function checked(value: number | null, atMost: number): Checked {
  return { value, atMost, held: value === null ? null : value <= atMost };
}

function isPeerOfDisk({ peer, verdict }: Entry): boolean {
  return peer !== LIMIT && peer !== "decant" && verdict !== "not-compared";
}

function fastest(peers: readonly Entry[], own: Entry | undefined): Verdict["fastestPeer"] {
  const found = peers.map((entry) => ({ name: entry.name, ratio: ratioOf(entry, own, secondsOf) }));
  const known = found.filter((one): one is { name: string; ratio: number } => one.ratio !== null);
  return known.sort((a, b) => a.ratio - b.ratio)[0] ?? null;
}
