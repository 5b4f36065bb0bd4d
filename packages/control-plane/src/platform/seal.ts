import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";

export type KeyRing = { current: string; keys: Record<string, string> };

/**
 * Envelope encryption: a fresh data key per record, encrypted by a key-encryption key whose id is part of the text, so
 * that two can be valid during a rotation. `place` (table, row, account) is bound in as associated data: a sealed value
 * copied to another row cannot be opened.
 */
export type Sealer = {
  /** The ids of the keys in the ring. */
  readonly keys: { current: string; former: readonly string[] };
  seal(place: readonly (string | number)[], plain: string): string;
  open(place: readonly (string | number)[], sealed: string): string;
  /**
   * The same value under the current key: only its data key is encrypted again, and nothing else is decrypted. What is
   * of the current key already stays as it is.
   */
  rewrap(place: readonly (string | number)[], sealed: string): string;
  /** A secret derived from the place and the current key only: with another current key it is another one. */
  derive(place: readonly (string | number)[]): string;
  /** A code that only the owner of the key ring can make, with the id of its key. */
  sign(place: readonly (string | number)[], text: string): string;
  /** False as well if the ring does not have the key any more. */
  isSigned(place: readonly (string | number)[], text: string, code: string): boolean;
};

export function createSealer(ring: KeyRing): Sealer {
  const keyOf = (id: string): Buffer => {
    const key = ring.keys[id];
    if (key === undefined) throw new Error(`No key "${id}" in the key ring.`);
    return Buffer.from(key, "base64");
  };
  return {
    get keys() {
      return { current: ring.current, former: Object.keys(ring.keys).filter((id) => id !== ring.current) };
    },
    seal(place, plain) {
      const dataKey = randomBytes(32);
      const wrapped = encrypt(keyOf(ring.current), dataKey, place);
      const text = encrypt(dataKey, Buffer.from(plain, "utf8"), place);
      return joined(ring.current, wrapped, text.toString("base64url"));
    },
    open(place, sealed) {
      const { keyId, wrapped, text } = partsOf(sealed);
      return decrypt(decrypt(keyOf(keyId), wrapped, place), Buffer.from(text, "base64url"), place).toString("utf8");
    },
    rewrap(place, sealed) {
      const { keyId, wrapped, text } = partsOf(sealed);
      if (keyId === ring.current) return sealed;
      const dataKey = decrypt(keyOf(keyId), wrapped, place);
      return joined(ring.current, encrypt(keyOf(ring.current), dataKey, place), text);
    },
    derive(place) {
      const secret = hkdfSync("sha256", keyOf(ring.current), "", `derive ${JSON.stringify(place)}`, DERIVED_BYTES);
      return Buffer.from(secret).toString("base64url");
    },
    sign: (place, text) => `${ring.current}.${codeOf(keyOf(ring.current), place, text).toString("base64url")}`,
    isSigned(place, text, code) {
      const dot = code.lastIndexOf(".");
      const keyId = code.slice(0, dot);
      if (!Object.hasOwn(ring.keys, keyId)) return false;
      const given = Buffer.from(code.slice(dot + 1), "base64url");
      const due = codeOf(keyOf(keyId), place, text);
      return given.length === due.length && timingSafeEqual(given, due);
    },
  };
}

/** How a value begins that is sealed under a key. */
export const prefixOf = (keyId: string): string => `v1.${keyId}.`;

const joined = (keyId: string, wrapped: Buffer, text: string): string =>
  `${prefixOf(keyId)}${wrapped.toString("base64url")}.${text}`;

function partsOf(sealed: string): { keyId: string; wrapped: Buffer; text: string } {
  const [version, keyId, wrapped, text] = sealed.split(".");
  if (version !== "v1" || keyId === undefined || wrapped === undefined || text === undefined)
    throw new Error("Not a sealed value.");
  return { keyId, wrapped: Buffer.from(wrapped, "base64url"), text };
}

function codeOf(key: Buffer, place: readonly (string | number)[], text: string): Buffer {
  const signing = Buffer.from(hkdfSync("sha256", key, "", "sign", 32));
  return createHmac("sha256", signing)
    .update(JSON.stringify([place, text]))
    .digest();
}

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
