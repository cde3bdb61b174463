/**
 * Blots secrets out of a text that is about to be shown: a last net under redact.ts, for what other programs and libraries say.
 */

/** Shorter secrets would blot out half of every sentence, and are guessed sooner than read. */
const MIN_SECRET_LENGTH = 4;

/** `text` with `***` in the place of each secret. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  // The longest first: one may be part of another.
  const hidden = secrets.filter((secret) => secret.length >= MIN_SECRET_LENGTH).sort((a, b) => b.length - a.length);
  return hidden.reduce((shown, secret) => shown.replaceAll(secret, () => "***"), text);
}
