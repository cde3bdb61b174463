/**
 * How something grew over a run: a bounded list, however long the run.
 */

/** Seconds since the start, and what was seen then. */
export type Sample = readonly [seconds: number, value: number];

/** Half of them are dropped when there are so many: a run of hours has no more than one of seconds. */
const MAX_SAMPLES = 400;

export class Samples {
  #list: Sample[] = [];
  /** One of so many is kept. */
  #step = 1;
  #count = 0;

  get list(): readonly Sample[] {
    return this.#list;
  }

  /** @param value asked only if it is kept */
  add(seconds: number, value: () => number): void {
    this.#count += 1;
    if (this.#count % this.#step !== 0) return;
    this.#list.push([Math.round(seconds * 1000) / 1000, value()]);
    if (this.#list.length < MAX_SAMPLES) return;
    this.#list = this.#list.filter((_, at) => at % 2 === 1);
    this.#step *= 2;
  }
}
