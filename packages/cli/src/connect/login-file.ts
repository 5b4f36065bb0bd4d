import { createCipheriv, randomBytes } from "node:crypto";

/**
 * MySQL's login path file with one password. It takes precedence over other option files, and it is the only way to
 * pass a password without arguments, environment or prompt. Its cipher hides nothing: the file contains the key.
 */
export function loginFile(password: string): Buffer {
  const folded = randomBytes(20);
  const key = Buffer.alloc(16);
  for (const [index, byte] of folded.entries()) key[index % 16] = (key[index % 16] ?? 0) ^ byte;
  const line = (text: string): Buffer => {
    const cipher = createCipheriv("aes-128-ecb", key, null);
    const hidden = Buffer.concat([cipher.update(text), cipher.final()]);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(hidden.length);
    return Buffer.concat([length, hidden]);
  };
  const escaped = password.replaceAll(/["\\]/g, "\\$&");
  return Buffer.concat([Buffer.alloc(4), folded, line("[client]\n"), line(`password = "${escaped}"\n`)]);
}
