/** An encoding of a secret from which it can be recovered. */
export type Form = { how: string; text: string; encoding?: BufferEncoding };

/** Shorter pieces of base64 occur in other texts by chance: this is nine bytes. */
const SHORTEST = 12;

/**
 * Every form in which a secret is searched for, without duplicates. A database shows binary columns in hexadecimal, so
 * each form is searched for in that encoding too.
 */
export function formsOf(secret: string): Form[] {
  const written = [...plainForms(secret), ...bytesOf(secret).flatMap(({ how, bytes }) => encodedForms(how, bytes))];
  const found = new Map<string, string>();
  for (const { how, text } of written) {
    found.set(text, found.get(text) ?? how);
    const inBytes = Buffer.from(text, "utf8").toString("hex");
    found.set(inBytes, found.get(inBytes) ?? `${how}, in a column of bytes`);
  }
  return [...found].map(([text, how]) => ({ how, text }));
}

function plainForms(secret: string): Form[] {
  const everyByte = [...Buffer.from(secret, "utf8")].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  const inUrl = encodeURIComponent(secret);
  return [
    { how: "plain", text: secret },
    { how: "plain, in JSON", text: JSON.stringify(secret).slice(1, -1) },
    { how: "URL-encoded", text: inUrl },
    { how: "URL-encoded in lower case", text: inUrl.replaceAll(/%../g, (code) => code.toLowerCase()) },
    { how: "URL-encoded as a form", text: inUrl.replaceAll("%20", "+") },
    { how: "URL-encoded, every byte", text: everyByte },
    { how: "URL-encoded, every byte, in upper case", text: everyByte.toUpperCase() },
    { how: "URL-encoded twice", text: encodeURIComponent(inUrl) },
  ];
}

function encodedForms(how: string, bytes: Buffer): Form[] {
  const hex = bytes.toString("hex");
  return [
    { how: `hex of ${how}`, text: hex },
    { how: `hex of ${how} in upper case`, text: hex.toUpperCase() },
    ...[0, 1, 2].flatMap((offset) => base64At(how, bytes, offset)),
  ];
}

/**
 * Base64 of these bytes inside of longer data, at this offset: without the characters that neighbours share. In pieces,
 * because programs break it into lines.
 */
function base64At(how: string, bytes: Buffer, offset: number): Form[] {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64url");
  const first = offset === 0 ? 0 : offset + 1;
  const last = Math.floor(((offset + bytes.length) * 8) / 6);
  return piecesOf(whole.slice(first, last)).flatMap((text) => [
    { how: `base64 of ${how}, behind ${offset}`, text: text.replaceAll("-", "+").replaceAll("_", "/") },
    { how: `url-safe base64 of ${how}, behind ${offset}`, text },
  ]);
}

function piecesOf(text: string): string[] {
  const count = Math.floor(text.length / SHORTEST);
  const length = Math.ceil(text.length / Math.max(1, count));
  return text.length < SHORTEST ? [] : (text.match(new RegExp(`.{1,${length}}`, "g")) ?? []).filter(isLongEnough);
}

const isLongEnough = ({ length }: string): boolean => length >= SHORTEST;

/** A token or a seed is itself an encoding of bytes, which are just as secret in any other encoding. */
function bytesOf(secret: string): { how: string; bytes: Buffer }[] {
  const readings: { how: string; bytes: Buffer }[] = [{ how: "the text", bytes: Buffer.from(secret, "utf8") }];
  if (/^(?:[0-9a-f]{2}){8,}$/i.test(secret)) readings.push({ how: "its bytes", bytes: Buffer.from(secret, "hex") });
  else if (/^[A-Z2-7]{16,}$/.test(secret)) readings.push({ how: "its bytes", bytes: fromBase32(secret) });
  return readings;
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function fromBase32(text: string): Buffer {
  const bits = Array.from(text, (letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
