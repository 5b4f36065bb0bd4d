import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

export type KeyRing = { current: string; keys: Record<string, string> };

/**
 * Envelope encryption: a fresh data key per record, encrypted by a key-encryption key whose id is part of the text, so
 * that two can be valid during a rotation. `place` (table, row, account) is bound in as associated data: a sealed value
 * copied to another row cannot be opened.
 */
export type Sealer = {
  seal(place: readonly (string | number)[], plain: string): string;
  open(place: readonly (string | number)[], sealed: string): string;
  /** A secret derived from the place and the current key only, so that it can be recomputed without any row. */
  derive(place: readonly (string | number)[]): string;
};

export function createSealer(ring: KeyRing): Sealer {
  const keyOf = (id: string): Buffer => {
    const key = ring.keys[id];
    if (key === undefined) throw new Error(`No key "${id}" in the key ring.`);
    return Buffer.from(key, "base64");
  };
  return {
    seal(place, plain) {
      const dataKey = randomBytes(32);
      const wrapped = encrypt(keyOf(ring.current), dataKey, place);
      const text = encrypt(dataKey, Buffer.from(plain, "utf8"), place);
      return ["v1", ring.current, wrapped.toString("base64url"), text.toString("base64url")].join(".");
    },
    open(place, sealed) {
      const [version, keyId, wrapped, text] = sealed.split(".");
      if (version !== "v1" || keyId === undefined || wrapped === undefined || text === undefined)
        throw new Error("Not a sealed value.");
      const dataKey = decrypt(keyOf(keyId), Buffer.from(wrapped, "base64url"), place);
      return decrypt(dataKey, Buffer.from(text, "base64url"), place).toString("utf8");
    },
    derive(place) {
      const secret = hkdfSync("sha256", keyOf(ring.current), "", `derive ${JSON.stringify(place)}`, DERIVED_BYTES);
      return Buffer.from(secret).toString("base64url");
    },
  };
}

/** 192 bits, 32 characters: the maximum for the password of a replication account. */
const DERIVED_BYTES = 24;
const IV_BYTES = 12;
const TAG_BYTES = 16;

function encrypt(key: Buffer, plain: Buffer, place: readonly (string | number)[]): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(JSON.stringify(place)));
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: Buffer, sealed: Buffer, place: readonly (string | number)[]): Buffer {
  const tagAt = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, IV_BYTES))
    .setAAD(Buffer.from(JSON.stringify(place)))
    .setAuthTag(sealed.subarray(tagAt));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, tagAt)), decipher.final()]);
}
