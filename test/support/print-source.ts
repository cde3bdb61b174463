/** A process of its own whose standard input is a source: `print-source.ts NAME` prints its facts as JSON. */
import { openSource } from "../../importer/sources/registry.ts";
import { sourceFacts } from "./source-facts.ts";

console.log(
  JSON.stringify(
    await sourceFacts(await openSource(process.argv[2] ?? "-", { env: {}, formatNamed: false, checksumGiven: false })),
  ),
);
process.exit(0); // a read that waits on standard input would keep it alive
