/**
 * The phase machine: which outcome of a phase leads where. Data, not code: printed by `--explain`, drawn in
 * ARCHITECTURE.md, and tested. Edges only lead forward, so no loop is possible.
 */
export type Phase = "Info" | "Transfer" | "Convert" | "Resize" | "Complete";

export const transitions = {
  Info: {
    stream: "Transfer",
    "random-access": "Convert",
    archive: "Transfer",
    blank: "Resize",
    "needs-scratch": "Complete",
  },
  Transfer: { "on-target": "Resize", spilled: "Convert", unpacked: "Complete", "needs-scratch": "Complete" },
  Convert: { converted: "Resize", "needs-scratch": "Complete" },
  Resize: { resized: "Complete" },
  Complete: {},
} as const satisfies Record<Phase, Record<string, Phase>>;

/** What a step of phase P may report; anything else does not compile. */
export type Outcome<P extends Phase> = keyof (typeof transitions)[P] & string;

/** Where `outcome` of `phase` leads. */
export function nextPhase<P extends Phase>(phase: P, outcome: Outcome<P>): Phase {
  const row: Readonly<Record<string, Phase>> = transitions[phase];
  const next = row[outcome];
  if (next === undefined) throw new Error(`phase ${phase} has no outcome ${outcome}`);
  return next;
}

/** One phase of a run, as it went. */
export interface PhaseRecord {
  readonly phase: Phase;
  /** Undefined for Complete. */
  readonly outcome: string | undefined;
  readonly seconds: number;
}

/** The table as text, the path that a run took marked with its outcomes. */
export function explainPhases(path: readonly PhaseRecord[] = []): string {
  const lines: string[] = [];
  for (const [phase, row] of Object.entries(transitions)) {
    const taken = path.find((record) => record.phase === phase);
    const outcomes = Object.entries(row).map(([outcome, next]) => {
      return taken?.outcome === outcome ? `[${outcome} → ${next}]` : `${outcome} → ${next}`;
    });
    lines.push(`${taken === undefined ? " " : "*"} ${phase.padEnd(9)} ${outcomes.join(" · ") || "–"}`);
  }
  return lines.join("\n");
}
