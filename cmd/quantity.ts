/**
 * Quantities of bytes as Kubernetes writes them (`10Gi`, `10G`, `1.5Ti`, plain bytes), and as people read them.
 */
import { UsageError } from "../importer/errors.ts";
import { quantityInBytes } from "../importer/quantity.ts";

/** What people write; Kubernetes' signs, exponents and fractions of a unit would be slips of the finger here. */
const SIZE = /^\d+(?:\.\d+)?(?:[kMGTP]|[KMGTP]i)?$/;

/**
 * Whole bytes; a fraction of a byte is rounded up, as Kubernetes does.
 * @throws UsageError naming the text
 */
export function parseQuantity(text: string): number {
  const trimmed = text.trim();
  const bytes = SIZE.test(trimmed) ? quantityInBytes(trimmed) : undefined;
  if (bytes === undefined || !Number.isSafeInteger(bytes)) {
    throw new UsageError(`"${text.slice(0, 100)}" is not a quantity of bytes such as 10Gi, 10G or 10737418240`);
  }
  return bytes;
}

/** `1.5 GiB`; exact bytes below 1 KiB. */
export function showBytes(bytes: number): string {
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  let value = bytes;
  let unit = "B";
  for (const next of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/** `1 h 02 min`, `3 min 20 s`, `12 s`. */
export function showSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const two = (value: number): string => String(value).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}
