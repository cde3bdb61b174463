/**
 * Times as the API has them in conditions, events and metadata: to the second. (Leases have microseconds.)
 */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}
