/**
 * Whom a TLS connection believes: the system's certificate authorities, and those in files and folders that were named.
 *
 * In a folder every regular file counts, whatever its name; links are followed, names with a dot in front are not
 * looked at (a ConfigMap's own folders). PEM with any number of certificates, or one in DER.
 */
import { X509Certificate } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import tls from "node:tls";

/** Plain data, so that a worker thread can make its own client. */
export interface TrustSettings {
  readonly folders: readonly string[];
  /** Certificates in files of their own. */
  readonly files?: readonly string[];
  /** Nothing is verified, and no certificate is read. */
  readonly insecure: boolean;
}

export interface OwnCertificates {
  /** PEM, one each. */
  readonly certificates: readonly string[];
  /** What could not be used, and why. */
  readonly warnings: readonly string[];
}

/** A certificate is one or two kilobytes, a bundle of all authorities 250. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** Where the distributions keep their bundle; the first that is there. */
const SYSTEM_BUNDLES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** Reads all files and folders. What cannot be read or used is a warning, never a failure. */
export function readOwnCertificates(places: Pick<TrustSettings, "folders" | "files">): OwnCertificates {
  const certificates: string[] = [];
  const warnings: string[] = [];
  for (const file of filesAt(places, warnings)) {
    try {
      certificates.push(...parseCertificates(readSmallFile(file)));
    } catch (error) {
      warnings.push(`certificates in ${file} are left out: ${reason(error)}`);
    }
  }
  return { certificates, warnings };
}

/** What every TLS connection of a client is made with. */
export function tlsOptions(settings: TrustSettings, own: readonly string[]): tls.ConnectionOptions {
  if (settings.insecure) return { rejectUnauthorized: false };
  // One context for all connections: to parse the system's bundle takes 60 ms, which each of them would spend.
  const secureContext = tls.createSecureContext({ ca: [...systemCertificates(), ...own] });
  return { secureContext, checkServerIdentity };
}

/** The same with the certificates that the settings name. @returns besides, what was left out of them */
export function trustedConnection(settings: TrustSettings): {
  readonly options: tls.ConnectionOptions;
  readonly warnings: readonly string[];
} {
  const { certificates, warnings } = settings.insecure
    ? { certificates: [], warnings: [] }
    : readOwnCertificates(settings);
  return { options: tlsOptions(settings, certificates), warnings };
}

/** The machine's own authorities: the file that they are read from; undefined where there is none. */
export function systemBundle(): string | undefined {
  return SYSTEM_BUNDLES.find((bundle) => {
    try {
      fs.accessSync(bundle, fs.constants.R_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Node.js brings the authorities of Mozilla for machines that have none. */
function systemCertificates(): readonly string[] {
  const bundle = systemBundle();
  return bundle === undefined ? tls.rootCertificates : [fs.readFileSync(bundle, "utf8")];
}

/** As Node.js checks it; the message names the names that the certificate is for. */
function checkServerIdentity(host: string, certificate: tls.PeerCertificate): Error | undefined {
  const error = tls.checkServerIdentity(host, certificate);
  if (error === undefined) return undefined;
  const names = certificate.subjectaltname ?? `CN:${String(certificate.subject?.CN ?? "nothing")}`;
  return Object.assign(new Error(`the certificate is for ${names}, not for ${host}`), {
    code: "ERR_TLS_CERT_ALTNAME_INVALID",
  });
}

function* filesAt({ files = [], folders }: Pick<TrustSettings, "folders" | "files">, warnings: string[]) {
  yield* files;
  for (const folder of folders) yield* filesIn(folder, warnings);
}

function filesIn(folder: string, warnings: string[]): string[] {
  try {
    const names = fs.readdirSync(folder).filter((name) => !name.startsWith("."));
    return names
      .sort()
      .map((name) => path.join(folder, name))
      .filter((file) => isFile(file, warnings));
  } catch (error) {
    warnings.push(`certificates in ${folder} are left out: ${reason(error)}`);
    return [];
  }
}

function isFile(file: string, warnings: string[]): boolean {
  try {
    return fs.statSync(file).isFile();
  } catch (error) {
    warnings.push(`certificates in ${file} are left out: ${reason(error)}`);
    return false;
  }
}

function readSmallFile(file: string): Buffer {
  const { size } = fs.statSync(file);
  if (size > MAX_FILE_BYTES) throw new Error(`it has ${size} bytes, more than ${MAX_FILE_BYTES}`);
  return fs.readFileSync(file);
}

const PEM_BLOCK = /-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END \1?CERTIFICATE-----/g;

/** @throws Error if there is none, or one is damaged: left out in silence it would be missed much later */
function parseCertificates(bytes: Buffer): string[] {
  const blocks = bytes.toString("latin1").match(PEM_BLOCK);
  if (blocks !== null) return blocks.map((block) => new X509Certificate(block).toString());
  if (bytes[0] === 0x30) return [new X509Certificate(bytes).toString()];
  throw new Error("there is no certificate in it");
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
