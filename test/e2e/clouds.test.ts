/**
 * Disk images in S3 and in Google Cloud Storage, poured by the program itself.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { baseDisk } from "../support/base-disk.ts";
import { withFakeGcs } from "../support/fake-gcs.ts";
import { goProgram } from "../support/go-programs.ts";
import { imageOf } from "../support/qemu-images.ts";
import { runDecant } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";
import { withVersitygw } from "../support/versitygw.ts";

const DISK = baseDisk(16 * 1024 * 1024);
/** Long enough for ranges. */
const PREALLOCATED = ["-o", "preallocation=full"];

const versitygw = await goProgram("versitygw");
const fakeGcs = await goProgram("fake-gcs-server");
const qemuImg = requireTools("qemu-img");

describe("decant convert s3://", { skip: versitygw.skip || qemuImg }, () => {
  it("pours a qcow2 with the environment's keys, in ranges and as a stream", async () => {
    await withTemporaryFolder(async (folder) => {
      await withVersitygw(versitygw.path, "images", async ({ endpoint, credentials, put, statuses }) => {
        await put("images/disk.qcow2", imageOf(DISK, "qcow2", PREALLOCATED));
        const env = {
          HOME: folder,
          AWS_ENDPOINT_URL: endpoint,
          AWS_ACCESS_KEY_ID: credentials.accessKeyId,
          AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
        };
        const target = path.join(folder, "disk.raw");
        const { status, stderr } = await runDecant(["convert", "s3://images/disk.qcow2", target], { env });
        assert.equal(status, 0, stderr);
        assert.ok(fs.readFileSync(target).equals(DISK));
        assert.ok(statuses().includes(206), "ranges, each of them signed");
        const checked = path.join(folder, "checked.raw");
        const checksum = ["--checksum", "md5:00000000000000000000000000000000"];
        const wrong = await runDecant(["convert", ...checksum, "s3://images/disk.qcow2", checked], { env });
        assert.equal(wrong.status, 6, wrong.stderr);
        assert.ok(!fs.existsSync(checked));
      });
    });
  });

  it("says what is wrong without a word of the keys", async () => {
    await withTemporaryFolder(async (folder) => {
      await withVersitygw(versitygw.path, "images", async ({ endpoint, credentials, put }) => {
        await put("images/disk.raw", DISK);
        const env = {
          HOME: folder,
          AWS_ENDPOINT_URL: endpoint,
          AWS_ACCESS_KEY_ID: credentials.accessKeyId,
          AWS_SECRET_ACCESS_KEY: "hunter2",
          AWS_REGION: "eu-test-1",
        };
        const { status, stdout, stderr } = await runDecant(["convert", "s3://images/disk.raw", "null:"], { env });
        assert.equal(status, 5);
        assert.equal(
          stderr,
          "decant: cannot read s3://images/disk.raw: the signature does not match (SignatureDoesNotMatch). " +
            "Check the access key and the secret key. [SOURCE_DENIED]\n",
        );
        assert.equal(stdout, "");
      });
    });
  });
});

describe("decant convert gs://", { skip: fakeGcs.skip || qemuImg }, () => {
  it("pours a raw disk and a qcow2", async () => {
    await withTemporaryFolder(async (folder) => {
      const bucket = path.join(folder, "storage", "images");
      fs.mkdirSync(bucket, { recursive: true });
      fs.writeFileSync(path.join(bucket, "disk.raw"), DISK);
      fs.writeFileSync(path.join(bucket, "disk.qcow2"), imageOf(DISK, "qcow2", PREALLOCATED));
      await withFakeGcs(fakeGcs.path, path.dirname(bucket), async (endpoint) => {
        for (const name of ["disk.raw", "disk.qcow2"]) {
          const target = path.join(folder, `${name}.poured`);
          const env = { STORAGE_EMULATOR_HOST: endpoint };
          const { status, stderr } = await runDecant(["convert", `gs://images/${name}`, target], { env });
          assert.equal(status, 0, stderr);
          assert.ok(fs.readFileSync(target).equals(DISK), name);
        }
      });
    });
  });
});
