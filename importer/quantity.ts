/**
 * Quantities as Kubernetes writes them: `10Gi`, `1.5G`, `500m`, `1e3`, `10737418240`.
 *
 * The grammar is that of apimachinery's `resource.Quantity`: an optional sign, decimal digits with at most one point, and
 * one suffix of binary SI (`Ki` to `Ei`), decimal SI (`n`, `u`, `m`, none, `k` to `E`) or a decimal exponent (`e` or `E`
 * with a whole number; `E` alone is exa). Arithmetic is exact; a fraction of a byte is rounded up and what is beyond 63 bits
 * is held at 2^63 - 1, as Kubernetes does. Negative sizes are refused: there is nothing that they could mean here.
 */

/** Digits, point, sign and suffix; longer ones are no quantity that anybody wrote. */
const MAX_TEXT_LENGTH = 100;

/** Far beyond what MAX_TEXT_LENGTH digits can bring back into 63 bits, either way. */
const MAX_EXPONENT = 200;

const LARGEST = 2n ** 63n - 1n;

interface Factor {
  readonly base: bigint;
  readonly exponent: number;
}

const FACTORS: Readonly<Record<string, Factor>> = {
  n: { base: 10n, exponent: -9 },
  u: { base: 10n, exponent: -6 },
  m: { base: 10n, exponent: -3 },
  "": { base: 10n, exponent: 0 },
  k: { base: 10n, exponent: 3 },
  M: { base: 10n, exponent: 6 },
  G: { base: 10n, exponent: 9 },
  T: { base: 10n, exponent: 12 },
  P: { base: 10n, exponent: 15 },
  E: { base: 10n, exponent: 18 },
  Ki: { base: 2n, exponent: 10 },
  Mi: { base: 2n, exponent: 20 },
  Gi: { base: 2n, exponent: 30 },
  Ti: { base: 2n, exponent: 40 },
  Pi: { base: 2n, exponent: 50 },
  Ei: { base: 2n, exponent: 60 },
};

/**
 * Whole bytes, rounded up. Above 2^53 - 1 the number is the nearest that JavaScript has: compare, never calculate with it.
 * @returns undefined where the text is no quantity
 */
export function quantityInBytes(text: string): number | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const [, whole = "", fraction = "", suffix = ""] = /^\+?(\d*)(?:\.(\d*))?([a-zA-Z]*|[eE][+-]?\d+)$/.exec(text) ?? [];
  if (whole === "" && fraction === "") return undefined;
  const factor = factorOf(suffix);
  if (factor === undefined) return undefined;
  const digits = BigInt(whole + fraction);
  const tens = factor.base === 10n ? factor.exponent - fraction.length : -fraction.length;
  const twos = factor.base === 2n ? factor.exponent : 0;
  const numerator = digits * 2n ** BigInt(twos) * 10n ** BigInt(Math.max(0, tens));
  const denominator = 10n ** BigInt(Math.max(0, -tens));
  const bytes = (numerator + denominator - 1n) / denominator;
  return Number(bytes > LARGEST ? LARGEST : bytes);
}

function factorOf(suffix: string): Factor | undefined {
  if (Object.hasOwn(FACTORS, suffix)) return FACTORS[suffix];
  if (!/^[eE][+-]?\d+$/.test(suffix)) return undefined;
  const exponent = Math.max(-MAX_EXPONENT, Math.min(MAX_EXPONENT, Number(suffix.slice(1))));
  return { base: 10n, exponent };
}
