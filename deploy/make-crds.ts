/**
 * Writes deploy/crds: `npm run crds`.
 */
import fs from "node:fs";
import path from "node:path";
import { crdFiles } from "./crd-files.ts";

const folder = path.join(import.meta.dirname, "crds");
fs.rmSync(folder, { recursive: true, force: true });
fs.mkdirSync(folder);
for (const [name, text] of crdFiles()) fs.writeFileSync(path.join(folder, name), text);
