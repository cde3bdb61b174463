/** A process of its own whose standard input is a source: `print-source.ts NAME` prints its facts as JSON. */
import { defaultHttpOptions } from "../../importer/http/http-options.ts";
import { openSource } from "../../importer/sources/open-source.ts";
import { sourceFacts } from "./source-facts.ts";

console.log(
  JSON.stringify(
    await sourceFacts(
      await openSource(process.argv[2] ?? "-", { env: {}, http: defaultHttpOptions, formatNamed: false }),
    ),
  ),
);
process.exit(0); // a read that waits on standard input would keep it alive
