/**
 * The controller's metrics, as a scraper reads them: how many calls it has made, and how many objects it keeps.
 */

export interface Calls {
  readonly writes: number;
  readonly reads: number;
  /** By verb and kind. */
  readonly counts: ReadonlyMap<string, number>;
}

const WRITES: ReadonlySet<string> = new Set(["create", "patch", "delete"]);
const CALLS = /^decant_controller_api_calls_total\{verb="(\w+)",kind="(\w+)"\} (\d+)$/gm;

/** Without Leases, and without watches, each of which is one call for all imports. */
export async function countCalls(port: number): Promise<Calls> {
  const page = await metrics(port);
  const found = [...page.matchAll(CALLS)].map(([, verb = "", kind = "", count]) => ({
    verb,
    kind,
    count: Number(count),
  }));
  const calls = found.filter(({ verb, kind }) => kind !== "Lease" && verb !== "watch");
  const sum = (isWrite: boolean): number => {
    return calls.filter(({ verb }) => WRITES.has(verb) === isWrite).reduce((total, { count }) => total + count, 0);
  };
  const counts = new Map(calls.map(({ verb, kind, count }) => [`${verb} ${kind}`, count]));
  return { writes: sum(true), reads: sum(false), counts };
}

export async function metrics(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  return await answer.text();
}

export function sumOf(page: string, start: RegExp): number {
  const lines = page.split("\n").filter((line) => start.test(line));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

/** Of this kind, that the controller keeps. */
export function objectsOn(page: string, kind: string): number | undefined {
  return valueOf(page, `decant_controller_objects{kind="${kind}"}`);
}

export function valueOf(page: string, name: string): number | undefined {
  const line = page.split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}
