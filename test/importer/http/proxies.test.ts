import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageError } from "../../../importer/errors.ts";
import { noProxies, proxyFor, proxySettings } from "../../../importer/http/proxies.ts";

const PROXY = "http://proxy:3128";

function isProxied(url: string, except: string): boolean {
  return proxyFor(new URL(url), { http: PROXY, https: PROXY, except }) !== undefined;
}

describe("proxySettings", () => {
  it("reads lower case before upper case, and takes empty for unset", () => {
    assert.deepEqual(proxySettings({}), noProxies);
    assert.deepEqual(
      proxySettings({ http_proxy: "a", HTTP_PROXY: "b", HTTPS_PROXY: "c", no_proxy: "", NO_PROXY: " d " }),
      {
        http: "a",
        https: "c",
        except: "d",
      },
    );
  });
});

describe("proxyFor", () => {
  it("chooses by the scheme of the URL", () => {
    const settings = { http: "http://a:1", https: "b:2", except: "" };
    assert.equal(proxyFor(new URL("http://host/"), settings)?.href, "http://a:1/");
    assert.equal(proxyFor(new URL("https://host/"), settings)?.href, "http://b:2/");
    assert.equal(proxyFor(new URL("https://host/"), { ...settings, https: undefined }), undefined);
  });

  for (const [url, except, expected] of [
    ["http://example.com/", "", true],
    ["http://localhost/", "", false],
    ["http://localhost:8100/", "", false],
    ["http://a.localhost/", "", false],
    ["http://127.9.9.9/", "", false],
    ["http://[::1]:80/", "", false],
    ["http://example.com/", "*", false],
    ["http://example.com/", "other,*", false],
    ["http://example.com/", "example.com", false],
    ["http://EXAMPLE.com./", "Example.COM", false],
    ["http://a.example.com/", "example.com", false],
    ["http://badexample.com/", "example.com", true],
    ["http://example.com/", ".example.com", true],
    ["http://a.b.example.com/", ".example.com", false],
    ["http://a.example.com/", "*.example.com", false],
    ["http://example.com/", "*.example.com", true],
    ["http://example.com:8080/", "example.com:8080", false],
    ["http://example.com/", "example.com:8080", true],
    ["https://example.com/", "example.com:443", false],
    ["http://example.com/", " a , example.com ", false],
    ["http://10.1.2.3/", "10.0.0.0/8", false],
    ["http://11.1.2.3/", "10.0.0.0/8", true],
    ["http://10.1.2.3/", "10.1.2.3", false],
    ["http://10.1.2.3:81/", "10.1.2.3:80", true],
    ["http://110.1.2.3/", "0.1.2.3", true],
    ["http://[2001:db8::5]/", "2001:db8::/32", false],
    ["http://[2001:db8::5]/", "2001:0db8:0::5", false],
    ["http://[2001:db8::5]:81/", "[2001:db8::5]:81", false],
    ["http://[2001:db8::5]/", "10.0.0.0/8", true],
    ["http://example.com/", "10.0.0.0/8,10.0.0.0/99,/,x/y,:80", true],
    ["http://10.1.2.3/", "10.0.0.0/33,10.0.0.0/-1,10.0.0.0/", true],
  ] as const) {
    it(`${expected ? "asks a proxy for" : "goes directly to"} ${url} with no_proxy "${except}"`, () => {
      assert.equal(isProxied(url, except), expected);
    });
  }

  it("refuses what is no proxy, without showing it", () => {
    for (const http of ["socks5://me:secret@proxy", "http://me:secret@[", "http://"]) {
      assert.throws(
        () => proxyFor(new URL("http://host/"), { ...noProxies, http }),
        (error) => error instanceof UsageError && !error.message.includes("secret"),
      );
    }
  });
});
