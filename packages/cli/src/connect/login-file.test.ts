import { createDecipheriv } from "node:crypto";
import { expect, test } from "vitest";
import { loginFile } from "./open-mysql.ts";

/** MySQL's format: 4 unused bytes, 20 bytes that make the key, then lines with their lengths. */
function read(file: Buffer): string {
  const key = Buffer.alloc(16);
  for (const [index, byte] of file.subarray(4, 24).entries()) key[index % 16] = (key[index % 16] ?? 0) ^ byte;
  let text = "";
  for (let at = 24; at < file.length; ) {
    const length = file.readUInt32LE(at);
    const cipher = createDecipheriv("aes-128-ecb", key, null);
    text += cipher.update(file.subarray(at + 4, at + 4 + length)).toString() + cipher.final().toString();
    at += 4 + length;
  }
  return text;
}

test("MySQL reads back any password from the login file", () => {
  expect(read(loginFile('a#b"c\\d e'))).toBe('[client]\npassword = "a#b\\"c\\\\d e"\n');
});
