/**
 * The main of a thread that makes the metrics page's certificate and ends: with it goes the memory of the libraries that this
 * takes, 8 MB that the import has better use for.
 */
import { parentPort, workerData } from "node:worker_threads";
import { generate } from "selfsigned";

/** Both in PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

if (parentPort === null) throw new Error("runs in a worker thread only");
const { hostName } = workerData as { readonly hostName: string };
// P-256: an RSA key takes a hundred times as long to make.
const made = await generate([{ name: "commonName", value: hostName }], {
  keyType: "ec",
  curve: "P-256",
  algorithm: "sha256",
});
const certificate: Certificate = { key: made.private, cert: made.cert };
parentPort.postMessage(certificate, []);
