import { redirects } from "@moorage/testkit/redirects.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isRegistrable, isSameRedirect } from "./redirect-uri.ts";

describe("what a client may register", () => {
  test.each([
    "https://app.example.com",
    "https://app.example.com/",
    "https://app.example.com/oauth/back?tenant=7&x=%20",
    "https://app.example.com?tenant=7",
    "https://app.example.com:8443/back",
    "https://xn--bcher-kva.example/back",
    "https://10.0.0.7/back",
    "https://[2001:db8::7]:8443/back",
    "https://localhost/back",
    "http://127.0.0.1/back",
    "http://127.0.0.1:80/back",
    "http://127.0.0.1:49152/back",
    "http://[::1]:49152/back",
    "http://localhost:8080",
    "http://localhost?a=b",
    "com.example.app:/back",
    "com.example.app://oauth/back",
    "com.example.app:///back",
    "com.googleusercontent.apps.123-abc:back",
  ])("%j", (address) => {
    expect(isRegistrable(address)).toBe(true);
  });

  test.each([
    ["nothing", ""],
    ["a path", "/back"],
    ["a host", "app.example.com/back"],
    ["http elsewhere", "http://app.example.com/back"],
    ["http on another loopback address", "http://127.0.0.2/back"],
    ["every address", "http://0.0.0.0:8080/back"],
    ["loopback in short", "http://127.1/back"],
    ["loopback as a number", "http://2130706433/back"],
    ["loopback in hexadecimal", "http://0x7f.0.0.1/back"],
    ["loopback in another spelling", "http://[0:0:0:0:0:0:0:1]/back"],
    ["loopback as IPv4 in IPv6", "http://[::ffff:127.0.0.1]/back"],
    ["a name that begins like loopback", "http://localhost.example.com/back"],
    ["a name below localhost", "http://app.localhost/back"],
    ["localhost in capitals", "http://LOCALHOST/back"],
    ["port 0", "http://127.0.0.1:0/back"],
    ["a port out of range", "http://127.0.0.1:65536/back"],
    ["a port with a zero before it", "http://127.0.0.1:08080/back"],
    ["a fragment", "https://app.example.com/back#a"],
    ["an empty fragment", "https://app.example.com/back#"],
    ["a user name", "https://user@app.example.com/back"],
    ["a password", "https://user:pass@app.example.com/back"],
    ["an empty user name", "https://@app.example.com/back"],
    ["a user name on loopback", "http://user@127.0.0.1/back"],
    ["a user name behind an app's scheme", "com.example.app://user@host/back"],
    ["a wildcard host", "https://*.example.com/back"],
    ["a wildcard path", "https://app.example.com/*"],
    ["a wildcard port", "http://127.0.0.1:*/back"],
    ["a backslash", "https://app.example.com\\@evil.example/back"],
    ["a space", "https://app.example.com/my back"],
    ["a tab", "https://app.example.com/ba\tck"],
    ["a new line", "https://app.example.com/back\r\nX: y"],
    ["U+0000", "https://app.example.com/back\0"],
    ["a letter beyond ASCII", "https://b\u00fccher.example/back"],
    ["a full stop beyond ASCII", "https://app\u3002example.com/back"],
    ["a scheme in capitals", "HTTPS://app.example.com/back"],
    ["a host in capitals", "https://App.example.com/back"],
    ["the default port", "https://app.example.com:443/back"],
    ["an empty port", "https://app.example.com:/back"],
    ["one slash", "https:/app.example.com/back"],
    ["no slash", "https:app.example.com/back"],
    ["three slashes", "https:///app.example.com/back"],
    ["dots in the path", "https://app.example.com/a/../back"],
    ["dots in the path, encoded", "https://app.example.com/a/%2E%2e/back"],
    ["an encoded host", "https://%61pp.example.com/back"],
    ["a host that would end a header's directive", "https://app.example.com;script-src/back"],
    ["a host with a comma", "https://app.example.com,evil.example/back"],
    ["a host with a quote", "https://app'.example.com/back"],
    ["no host", "https:///"],
    ["a scheme without a dot", "myapp:/back"],
    ["an app's scheme in capitals", "com.example.App:/back"],
    ["script", "javascript:alert(1)"],
    ["script behind a host", "javascript://app.example.com/%0aalert(1)"],
    ["data", "data:text/html,x"],
    ["a file", "file:///etc/passwd"],
    ["ftp", "ftp://app.example.com/back"],
    ["a web socket", "wss://app.example.com/back"],
    ["a blob", "blob:https://app.example.com/1"],
    ["mail", "mailto:a@example.com"],
    ["an Android intent", "intent://back#Intent;scheme=com.example.app;end"],
    ["the out-of-band name", "urn:ietf:wg:oauth:2.0:oob"],
  ])("never %s", (_, address) => {
    expect(isRegistrable(address)).toBe(false);
  });
});

describe.each(redirects)("a registered address: $kind", ({ registered, same, others }) => {
  test("can be registered and matches itself", () => {
    expect(isRegistrable(registered)).toBe(true);
    expect(same.filter((given) => !isSameRedirect(registered, given))).toEqual([]);
  });

  test(`none of ${others.length} others matches it`, () => {
    expect(others.length).toBeGreaterThanOrEqual(40);
    expect(new Set(others).size).toBe(others.length);
    expect(others.filter((given) => isSameRedirect(registered, given))).toEqual([]);
  });

  test("an added query matches only for a client that may add one", () => {
    expect(isSameRedirect(registered, `${registered}?returnTo=%2Fa&b=it's*`, false)).toBe(false);
    expect(isSameRedirect(registered, `${registered}?returnTo=%2Fa&b=it's*`, true)).toBe(true);
    expect(isSameRedirect(registered, `${registered}?`, true)).toBe(true);
  });

  test("such a client may add nothing but a query", () => {
    const queries = new Set([`${registered}?`, `${registered}?a=b`, registered.replace("/back", ":8080/back?a=b")]);
    const more = others.filter((given) => !queries.has(given));
    expect(more.filter((given) => isSameRedirect(registered, given, true))).toEqual([]);
    const added = ["?a#b", "?a b", "?a\nb", "?\u0430"];
    expect(added.filter((query) => isSameRedirect(registered, registered + query, true))).toEqual([]);
  });

  test("such a client may not add parameters of our own answer", () => {
    const added = ["?code=1", "?a=b&state=1", "?iss=x", "?%63ode=1", "?error"];
    expect(added.filter((query) => isSameRedirect(registered, registered + query, true))).toEqual([]);
  });
});

test("a registered query is neither extended nor removed", () => {
  const registered = "https://app.example.com/back?tenant=7";
  const others = [`${registered}&a=b`, `${registered}?a=b`, "https://app.example.com/back", `${registered}7`];
  expect(others.filter((given) => isSameRedirect(registered, given, true))).toEqual([]);
});

test("the port is free on every loopback address, but the address must be the same", () => {
  const all = ["http://127.0.0.1", "http://[::1]", "http://localhost"];
  for (const registered of all)
    for (const given of all)
      expect(isSameRedirect(`${registered}:8080/back`, `${given}:9090/back`)).toBe(registered === given);
});

test("an address with anything inserted anywhere does not match", () => {
  const marks = [".", "/", "@", ":", "#", "?", "%", "\\", "*", "&", ";", ",", "\t", "\n", "\r", " ", "0"];
  const pieces = fc.oneof(fc.string({ minLength: 1, maxLength: 6 }), fc.constantFrom(...marks));
  for (const { registered, kind } of redirects)
    fc.assert(
      fc.property(pieces, fc.nat(registered.length), (piece, at) => {
        const given = registered.slice(0, at) + piece + registered.slice(at);
        // Only an inserted port of a loopback address may match.
        const freePort = kind === "loopback" && /^http:\/\/127\.0\.0\.1:[1-9]\d*\/back$/.test(given);
        expect(isSameRedirect(registered, given)).toBe(freePort);
      }),
      { numRuns: 2_000 },
    );
});
