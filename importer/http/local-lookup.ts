/**
 * Names to addresses: `localhost` is this machine (RFC 6761, section 6.3), whatever a resolver says of it or does not; a
 * container may have no hosts file. All other names are the system's to resolve.
 */
import dns from "node:dns";
import type { LookupFunction } from "node:net";

const THIS_MACHINE = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

export const localLookup: LookupFunction = (hostname, options, callback) => {
  if (hostname.toLowerCase() !== "localhost") {
    dns.lookup(hostname, options, callback);
    return;
  }
  const wanted = options.family;
  const found = THIS_MACHINE.filter(({ family }) => (wanted !== 4 && wanted !== 6) || wanted === family);
  const [first] = found;
  if (options.all === true) callback(null, found);
  else callback(null, first?.address ?? "127.0.0.1", first?.family ?? 4);
};
