/**
 * Makes pairs.json, a short list of combinations in which every pair of values of any two parameters occurs:
 *
 *   sh bin/node24 test/oracle/make-pairs.ts
 *
 * Greedy: of all possible combinations the one with the most new pairs, then the next. The first of equals wins, so the
 * list is the same on every run. pairs.test.ts compares.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { dimensionsOf, FORMATS, parametersOf, READING } from "./dimensions.ts";
import type { Choice } from "./dimensions.ts";

/** For each format its combinations. */
export type Pairs = Readonly<Record<string, readonly Choice[]>>;

export const PAIRS_FILE = path.join(import.meta.dirname, "pairs.json");

export function makePairs(): Pairs {
  return Object.fromEntries(
    Object.keys(FORMATS).map((format) => [format, cover([...possibleChoices(format)], parametersOf(format))]),
  );
}

/** Every combination that no rule forbids; those of one image follow each other. */
export function* possibleChoices(format: string): Generator<Choice> {
  const { rules } = dimensionsOf(format);
  for (const choice of allChoices(parametersOf(format))) {
    if (!rules.some((rule) => rule.forbids(choice))) yield choice;
  }
}

/** Every combination of the parameters' values, the last parameter changing fastest. */
export function* allChoices(parameters: Readonly<Record<string, readonly string[]>>): Generator<Choice> {
  const [first, ...rest] = Object.entries(parameters);
  if (first === undefined) {
    yield {};
    return;
  }
  const [name, values] = first;
  for (const value of values) {
    for (const choice of allChoices(Object.fromEntries(rest))) yield { [name]: value, ...choice };
  }
}

/** Every pair that occurs in a possible combination. Rules concern the image only, so the rest combines with all of it. */
export function possiblePairs(format: string): Set<string> {
  const { image, rules } = dimensionsOf(format);
  const possible = [...allChoices(image)].filter((choice) => !rules.some((rule) => rule.forbids(choice)));
  const readings = [...allChoices(READING)];
  const values = (choices: readonly Choice[]): Set<string> =>
    new Set(choices.flatMap((choice) => Object.entries(choice).map(([name, value]) => `${name}=${value}`)));
  const mixed = [...values(possible)].flatMap((a) => [...values(readings)].map((b) => `${a} ${b}`));
  return new Set([...[...possible, ...readings].flatMap(pairsOf), ...mixed]);
}

/** The pairs of values of a combination: `name=value name=value`. */
export function pairsOf(choice: Choice): string[] {
  const entries = Object.entries(choice).map(([name, value]) => `${name}=${value}`);
  return entries.flatMap((a, i) => entries.slice(i + 1).map((b) => `${a} ${b}`));
}

function cover(choices: readonly Choice[], parameters: Readonly<Record<string, readonly string[]>>): Choice[] {
  // A number for each value of each parameter, and from two of them one for each pair.
  const values = Object.entries(parameters).flatMap(([name, list]) => list.map((value) => `${name}=${value}`));
  const width = Object.keys(parameters).length;
  const numbers = new Uint8Array(choices.length * width);
  choices.forEach((choice, i) => {
    const own = Object.entries(choice).map(([name, value]) => values.indexOf(`${name}=${value}`));
    numbers.set(own, i * width);
  });
  const isCovered = new Uint8Array(values.length * values.length);
  const visit = (index: number, use: (pair: number) => void): void => {
    for (let i = index * width; i < (index + 1) * width; i++) {
      for (let j = i + 1; j < (index + 1) * width; j++) use((numbers[i] ?? 0) * values.length + (numbers[j] ?? 0));
    }
  };
  const chosen: Choice[] = [];
  for (;;) {
    let best = { index: 0, count: 0 };
    for (let index = 0; index < choices.length; index++) {
      let count = 0;
      visit(index, (pair) => {
        count += 1 - (isCovered[pair] ?? 0);
      });
      if (count > best.count) best = { index, count };
    }
    const choice = choices[best.index];
    if (best.count === 0 || choice === undefined) return chosen;
    visit(best.index, (pair) => {
      isCovered[pair] = 1;
    });
    chosen.push(choice);
  }
}

/** The list as it is stored: the parameters once, then the values of one combination a line. */
interface StoredPairs {
  /** Separated by spaces. */
  readonly parameters: string;
  readonly choices: readonly (readonly string[])[];
}

export function pairsText(pairs: Pairs): string {
  const formats = Object.entries(pairs).map(([format, choices]) => {
    const lines = choices.map((choice) => `      ${list(Object.values(choice))}`);
    const parameters = JSON.stringify(Object.keys(parametersOf(format)).join(" "));
    return `  "${format}": {\n    "parameters": ${parameters},\n    "choices": [\n${lines.join(",\n")}\n    ]\n  }`;
  });
  return `{\n${formats.join(",\n")}\n}\n`;
}

function list(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(", ")}]`;
}

/** The list that is checked in. */
export function readPairs(): Pairs {
  const stored = JSON.parse(readFileSync(PAIRS_FILE, "utf8")) as Readonly<Record<string, StoredPairs>>;
  return Object.fromEntries(
    Object.entries(stored).map(([format, { parameters, choices }]) => [
      format,
      choices.map((values) => Object.fromEntries(parameters.split(" ").map((name, i) => [name, values[i] ?? ""]))),
    ]),
  );
}

if (import.meta.main) writeFileSync(PAIRS_FILE, pairsText(makePairs()));
