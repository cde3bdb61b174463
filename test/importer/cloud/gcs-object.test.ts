import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseGcsObject } from "../../../importer/cloud/gcs-object.ts";
import { UsageError } from "../../../importer/errors.ts";

describe("GCS object", () => {
  it("takes an object's name as it is written, and asks Google", () => {
    assert.deepEqual(parseGcsObject("gs://bucket/a b/c%20+?#d//e", {}), {
      name: "gs://bucket/a b/c%20+?#d//e",
      url: "https://storage.googleapis.com/bucket/a%20b/c%2520%2B%3F%23d//e",
      service: "google",
    });
    assert.equal(parseGcsObject("GS://with.dots/k", {}).url, "https://storage.googleapis.com/with.dots/k");
  });

  it("decodes the path of a URL, and leaves its query and user info out", () => {
    assert.deepEqual(parseGcsObject("http://me:secret@host:4443/bucket/a%20b/c?secret#secret", {}), {
      name: "http://host:4443/bucket/a b/c",
      url: "http://host:4443/bucket/a%20b/c",
      service: "other",
    });
  });

  it("knows Google's hosts", () => {
    const url = (text: string) => [parseGcsObject(text, {}).service, parseGcsObject(text, {}).url];
    const path = ["google", "https://storage.googleapis.com/bucket/k"];
    assert.deepEqual(url("https://storage.googleapis.com/bucket/k"), path);
    assert.deepEqual(url("https://bucket.storage.googleapis.com/k/l"), [
      "google",
      "https://bucket.storage.googleapis.com/k/l",
    ]);
    assert.equal(url("https://storage.googleapis.com.evil.example/b/k")[0], "other");
    assert.equal(url("https://evilstorage.googleapis.com/b/k")[0], "other");
  });

  it("goes to an emulator where one is named, for names of gs only", () => {
    for (const host of ["localhost:4443", "http://localhost:4443", "http://localhost:4443/"]) {
      const { url, service } = parseGcsObject("gs://b/k", { STORAGE_EMULATOR_HOST: host });
      assert.deepEqual([url, service], ["http://localhost:4443/b/k", "emulator"]);
    }
    assert.equal(parseGcsObject("http://host/b/k", { STORAGE_EMULATOR_HOST: "x" }).service, "other");
    assert.equal(parseGcsObject("gs://b/k", { STORAGE_EMULATOR_HOST: "" }).service, "google");
  });

  it("refuses what names no object", () => {
    for (const name of [
      "gs://",
      "gs://b",
      "gs://b/",
      "gs:///k",
      "http://host",
      "http://host/b",
      "gs://b/a/../k",
      "b/k",
    ]) {
      assert.throws(() => parseGcsObject(name, {}), UsageError, name);
    }
    assert.throws(
      () => parseGcsObject("gs://b/k", { STORAGE_EMULATOR_HOST: "sec ret" }),
      (error) => error instanceof UsageError && !error.message.includes("sec ret"),
    );
  });
});
