import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createSealer } from "./seal.ts";

const key = (): string => randomBytes(32).toString("base64");
const place = ["databases.admin_password", 1, 7];

test("a sealed value opens at its place, and does not contain its text", () => {
  const sealer = createSealer({ current: "k1", keys: { k1: key() } });

  const sealed = sealer.seal(place, "correct horse");

  expect(sealer.open(place, sealed)).toBe("correct horse");
  expect(sealed).not.toContain("correct horse");
  expect(sealed).not.toContain(Buffer.from("correct horse").toString("base64url"));
});

test("a sealed value copied to another row does not open", () => {
  const sealer = createSealer({ current: "k1", keys: { k1: key() } });
  const sealed = sealer.seal(place, "correct horse");

  expect(() => sealer.open(["databases.admin_password", 1, 8], sealed)).toThrow(/authenticate/);
  expect(() => sealer.open(["databases.admin_password", 2, 7], sealed)).toThrow(/authenticate/);
});

test("the data key is bound to its place too, not only the text", () => {
  const sealer = createSealer({ current: "k1", keys: { k1: key() } });
  const [a, b] = [sealer.seal(place, "one").split("."), sealer.seal(["elsewhere"], "two").split(".")];

  expect(() => sealer.open(place, ["v1", "k1", b[2], a[3]].join("."))).toThrow(/authenticate/);
  expect(() => sealer.open(place, ["v1", "k1", a[2], b[3]].join("."))).toThrow(/authenticate/);
});

test("during a rotation old values open, and new ones use the new key", () => {
  const keys = { k1: key(), k2: key() };
  const old = createSealer({ current: "k1", keys: { k1: keys.k1 } }).seal(place, "old");
  const rotating = createSealer({ current: "k2", keys });

  const fresh = rotating.seal(place, "new");

  expect(rotating.open(place, old)).toBe("old");
  expect(createSealer({ current: "k2", keys: { k2: keys.k2 } }).open(place, fresh)).toBe("new");
  expect(() => createSealer({ current: "k2", keys: { k2: keys.k2 } }).open(place, old)).toThrow('No key "k1"');
});

test("a rewrapped value opens without the former key, at its place only, and its text was not decrypted", () => {
  const [k1, k2] = [key(), key()];
  const old = createSealer({ current: "k1", keys: { k1 } }).seal(place, "correct horse");
  const rotating = createSealer({ current: "k2", keys: { k1, k2 } });
  const after = createSealer({ current: "k2", keys: { k2 } });

  const rewrapped = rotating.rewrap(place, old);

  expect(after.open(place, rewrapped)).toBe("correct horse");
  expect(rewrapped.split(".")[3]).toBe(old.split(".")[3]);
  expect(rotating.rewrap(place, rewrapped)).toBe(rewrapped);
  expect(() => after.open(["databases.admin_password", 1, 8], rewrapped)).toThrow(/authenticate/);
  expect(() => rotating.rewrap(["databases.admin_password", 1, 8], old)).toThrow(/authenticate/);
});

test("every sealed value has its own key and nonce", () => {
  const sealer = createSealer({ current: "k1", keys: { k1: key() } });

  const texts = new Set(Array.from({ length: 100 }, () => sealer.seal(place, "same").split(".")[3]));

  expect(texts.size).toBe(100);
});

test("a changed byte anywhere is refused", () => {
  const sealer = createSealer({ current: "k1", keys: { k1: key() } });
  const parts = sealer.seal(place, "correct horse").split(".");

  for (const index of [2, 3]) {
    const bytes = Buffer.from(parts[index] as string, "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      const text = parts.with(index, changed.toString("base64url")).join(".");
      expect(() => sealer.open(place, text)).toThrow(/authenticate/);
    }
  }
});

test("a derived secret is stable for its place and key, and differs for any other", () => {
  const [k1, k2] = [key(), key()];
  const sealer = createSealer({ current: "k1", keys: { k1, k2 } });
  const secret = sealer.derive(place);

  expect(secret).toMatch(/^[\w-]{32}$/);
  expect(createSealer({ current: "k1", keys: { k1 } }).derive(place)).toBe(secret);
  expect(sealer.derive(["databases.admin_password", 1, 8])).not.toBe(secret);
  expect(createSealer({ current: "k2", keys: { k1, k2 } }).derive(place)).not.toBe(secret);
});
