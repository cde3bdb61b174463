/**
 * Truth values as Kubernetes' tools write them in annotations: Go's words, nothing else.
 */
const WORDS: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((word): [string, boolean] => [word, true]),
  ...["0", "f", "F", "FALSE", "false", "False"].map((word): [string, boolean] => [word, false]),
]);

/** @returns undefined for any other text, and for none */
export function parseGoBool(text: string | undefined): boolean | undefined {
  return text === undefined ? undefined : WORDS.get(text);
}
