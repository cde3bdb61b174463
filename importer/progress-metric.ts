/**
 * The worker's one metric: how far the import is, in percent. The controller finds it in the page by its text,
 * `kubevirt_cdi_import_progress_total{ownerUID="…"}`, one space, one to three digits and perhaps a fraction; so name, label
 * and spelling are fixed, and no value may ever be written with an exponent.
 */

export const PROGRESS_METRIC = {
  name: "kubevirt_cdi_import_progress_total",
  help: "The import progress in percentage",
  label: "ownerUID",
} as const;

/** Fractions of a percent that are told apart. */
const STEPS_PER_PERCENT = 100;

/** The metric's line as it must stand in the page. */
export function progressLine(ownerUid: string, percent: number): string {
  return `${PROGRESS_METRIC.name}{${PROGRESS_METRIC.label}="${ownerUid}"} ${percent}`;
}

/** Turns samples of a run into a percentage that never falls, whatever phase or second attempt the samples are of. */
export class ProgressScale {
  #percent = 0;

  /**
   * @param total undefined: unknown; the scale stays where it is
   * @returns 0 to 100, rounded down to a hundredth: 100 only when all is done
   */
  update(done: number, total: number | undefined): number {
    if (total === undefined || total <= 0) return this.#percent;
    const percent = Math.floor((Math.min(done, total) / total) * 100 * STEPS_PER_PERCENT) / STEPS_PER_PERCENT;
    this.#percent = Math.max(this.#percent, percent);
    return this.#percent;
  }
}
