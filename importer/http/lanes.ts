/**
 * How many requests are under way at once: all that are asked for, until the server says that they are too many. Many a server
 * lets an address have four or ten connections and answers the others with 429 or 503; whoever goes on asking gets nowhere.
 */

/** What a server answers that has too much to do. */
export function isRefusal(status: number): boolean {
  return status === 429 || status === 503;
}

export class Lanes {
  #most = Infinity;
  #busy = 0;
  readonly #waiting: (() => void)[] = [];

  /** Runs `work` once there is a lane for it. Settles as it does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    while (this.#busy >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#busy += 1;
    try {
      return await work();
    } finally {
      this.#busy -= 1;
      this.#waiting.shift()?.();
    }
  }

  /**
   * To be called by work that was refused: half as many lanes as are in use. Not while more are in use than there are lanes:
   * what they are told is about the time before.
   * @returns false if there is a single lane, and that is too many
   */
  narrow(): boolean {
    if (this.#busy > this.#most) return true;
    if (this.#busy <= 1) return false;
    this.#most = Math.floor(this.#busy / 2);
    return true;
  }
}
