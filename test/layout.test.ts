/**
 * What the tree promises: every source file has its test, and every format is in its registry.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { goProgramsNamedIn, listedPrograms } from "./support/go-programs.ts";
import { listedTools } from "./support/tools.ts";

const ROOT = path.join(import.meta.dirname, "..");

/** Source files without a test of their own name, and the test that answers for them. An empty mirror would be worse. */
const ANSWERED_FOR_ELSEWHERE: Readonly<Record<string, string>> = {
  "controller/api-error.ts": "test/controller/api-client.test.ts",
  "controller/api/kinds.ts": "test/controller/api-client.test.ts",
  "controller/api/names.ts": "test/controller/plan/import-annotations.test.ts",
  "controller/api/pods.ts": "test/controller/cache.test.ts",
  "controller/api/time.ts": "test/controller/plan/condition-times.test.ts",
  "controller/crds/all-crds.ts": "test/deploy/crd-files.test.ts",
  "controller/crds/cdi-config.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/cel.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/claim-schemas.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/data-volume.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/definition.ts": "test/cluster/deploy.test.ts",
  "controller/crds/golden-images.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/object-transfer.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/schema.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/source-schemas.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/status-schemas.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/storage-profile.ts": "test/cluster/crds/rules.test.ts",
  "controller/crds/unchanged.ts": "test/cluster/crds/changes.test.ts",
  "controller/crds/volume-sources.ts": "test/cluster/crds/rules.test.ts",
  "controller/http-exchange.ts": "test/controller/api-client.test.ts",
  "controller/install-crds.ts": "test/cluster/controller.test.ts",
  "controller/json-lines.ts": "test/controller/api-client.test.ts",
  "controller/own-image.ts": "test/cmd/controller.test.ts",
  "controller/plan/action.ts": "test/controller/plan/draft.test.ts",
  "controller/plan/plan.ts": "test/controller/plan/crash.test.ts",
  "controller/plan/worker/node-pull.ts": "test/controller/plan/worker/worker-pod.test.ts",
  "controller/plan/worker/pod-annotations.ts": "test/controller/plan/worker/report-worker.test.ts",
  "controller/plan/worker/retry.ts": "test/controller/plan/worker/plan-worker.test.ts",
  "controller/plan/worker/running-note.ts": "test/controller/plan/worker/report-worker.test.ts",
  "controller/plan/worker/worker-removal.ts": "test/controller/plan/worker/plan-worker.test.ts",
  "controller/refusal.ts": "test/controller/log.test.ts",
  "controller/store.ts": "test/controller/cache.test.ts",
  "controller/trim.ts": "test/controller/cache.test.ts",
  // Numbers that others are tested with.
  "formats/codecs/codec.ts": "test/formats/codecs/zstd.test.ts",
  "formats/disk-format.ts": "test/formats/disk-images.test.ts",
  "importer/digest.ts": "test/e2e/results.test.ts",
  "importer/imageio/engine-api.ts": "test/importer/sources/imageio.test.ts",
  "importer/imageio/image-server.ts": "test/importer/sources/imageio.test.ts",
  "importer/imageio/transfer.ts": "test/importer/sources/imageio.test.ts",
  "importer/nbd/handshake.ts": "test/importer/nbd/nbd-client.test.ts",
  "importer/nbd/protocol.ts": "test/importer/nbd/nbd-client.test.ts",
  "importer/nbd/wire.ts": "test/importer/nbd/nbd-client.test.ts",
  "importer/http/http-options.ts": "test/e2e/connection-options.test.ts",
  "importer/http/node-http.ts": "test/importer/another-attempt.test.ts",
  "importer/proved-ranges.ts": "test/importer/unwrap-source.test.ts",
  "importer/run.ts": "test/importer/data-processor.test.ts",
  "importer/second-reading.ts": "test/e2e/refused-targets.test.ts",
  "importer/steps/complete.ts": "test/importer/data-processor.test.ts",
  "importer/steps/convert.ts": "test/importer/data-processor.test.ts",
  "importer/steps/info.ts": "test/importer/data-processor.test.ts",
  "importer/steps/resize.ts": "test/importer/data-processor.test.ts",
  "importer/steps/transfer.ts": "test/importer/data-processor.test.ts",
  "importer/unpack/file-writer.ts": "test/importer/unpack/unpack-archive.test.ts",
  "importer/unpack/folder-walk.ts": "test/importer/unpack/unpack-archive.test.ts",
  "importer/verify.ts": "test/e2e/results.test.ts",
  "importer/worker/open-worker-source.ts": "test/worker/sources.test.ts",
  "importer/worker/pour-image.ts": "test/worker/http-endings.test.ts",
  "importer/worker/run-worker.ts": "test/worker/process.test.ts",
  "importer/worker/worker-target.ts": "test/worker/volumes.test.ts",
};

/** Optional native packages, and where alone they are loaded; the lint rule does not see through createRequire. */
const NATIVE: Readonly<Record<string, RegExp>> = {
  koffi: /^(importer\/kernel|formats\/codecs\/system\/)/,
  "@ronomon/direct-io": /^importer\/direct-io\.ts$/,
};

/** Which file lists what: the interface that an export is declared as, and the registry it must be in. */
const REGISTRIES = [
  { kind: "DiskFormat", files: "formats/{*,*/*}.ts", registry: "formats/registry.ts" },
  { kind: "Codec", files: "formats/codecs/*.ts", registry: "formats/codecs/registry.ts" },
  { kind: "Archive", files: "formats/archives/{*,*/*}.ts", registry: "formats/archives/registry.ts" },
] as const;

describe("layout", () => {
  it("every source file has a test of its own name", () => {
    const missing = sources("{controller,formats,importer}/**/*.ts").filter((file) => {
      return hasCode(file) && !existsSync(mirrorOf(file)) && ANSWERED_FOR_ELSEWHERE[file] === undefined;
    });
    assert.deepEqual(missing, [], list("have no test of their own name", missing));
  });

  it("every test stands where its sources stand", () => {
    const orphans = sources("test/{formats,importer,controller,cmd}/**/*.test.ts").filter((file) => {
      return !existsSync(path.join(ROOT, path.dirname(file.slice("test/".length))));
    });
    assert.deepEqual(orphans, [], list("are in a folder that the sources do not have", orphans));
  });

  it("the list of exceptions names files and tests that are there, and no file that has its test", () => {
    const stale = Object.entries(ANSWERED_FOR_ELSEWHERE).filter(([file, test]) => {
      return !existsSync(path.join(ROOT, file)) || !existsSync(path.join(ROOT, test)) || existsSync(mirrorOf(file));
    });
    const names = stale.map(([file, test]) => `${file}: ${test}`);
    assert.deepEqual(names, [], list("are no exceptions", names));
  });

  it("native packages are loaded in their own files only", () => {
    const loaders = Object.entries(NATIVE).flatMap(([name, place]) => {
      const files = sources("{cmd,controller,formats,importer}/**/*.ts").filter((file) =>
        read(file).includes(`"${name}"`),
      );
      return files.filter((file) => !place.test(file)).map((file) => `${file} (${name})`);
    });
    assert.deepEqual(loaders, [], list("load a native package elsewhere", loaders));
  });

  for (const { kind, files, registry } of REGISTRIES) {
    it(`${registry} lists every ${kind}`, () => {
      const declaration = new RegExp(`^export const (\\w+): ${kind}\\b`, "gm");
      const declared = sources(files).flatMap((file) => {
        return [...read(file).matchAll(declaration)].map((found) => ({ file, name: found[1] ?? "" }));
      });
      assert.ok(declared.length > 0, `no file declares a ${kind}`);
      const listed = read(registry);
      const missing = declared.filter(({ file, name }) => {
        const specifier = path.relative(path.dirname(registry), file);
        return !new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from "\\./${specifier}"`).test(listed);
      });
      const names = missing.map(({ file, name }) => `${file} (${name})`);
      assert.deepEqual(names, [], list(`are not in ${registry}`, names));
    });
  }

  it("package-lock.json names no engines", () => {
    const lock = JSON.parse(read("package-lock.json")) as { readonly packages: Readonly<Record<string, object>> };
    const named = Object.keys(lock.packages).filter((name) => "engines" in (lock.packages[name] ?? {}));
    assert.deepEqual(named, [], list("name engines (test/strip-engines.ts says why not): npm run lock", named));
  });

  it("every tool that npm test installs is used by a test", () => {
    const tests = sources("test/**/*.ts").filter((file) => file !== "test/support/tools.ts");
    const text = tests.map(read).join("\n");
    const unused = listedTools().filter((tool) => !text.includes(`"${tool}"`));
    assert.deepEqual(unused, [], list("are listed in test/support/tools.ts and used nowhere", unused));
  });

  it("every program that npm test builds is used by a test", () => {
    const used = sources("test/**/*.test.ts").flatMap((file) => goProgramsNamedIn(read(file)));
    const unused = listedPrograms().filter((name) => !used.includes(name));
    assert.deepEqual(unused, [], list("are listed in test/support/go-programs.ts and used nowhere", unused));
  });
});

function sources(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT }).sort();
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}

function mirrorOf(file: string): string {
  return path.join(ROOT, "test", file.replace(/\.ts$/, ".test.ts"));
}

/** False for a file of types only: there is nothing to run. */
function hasCode(file: string): boolean {
  return /^export (async )?(function|const|class)/m.test(read(file));
}

function list(complaint: string, names: readonly string[]): string {
  return `${names.length} ${complaint}:\n${names.map((name) => `  ${name}`).join("\n")}`;
}
