import { z } from "zod";

const EMAIL = "an email address of at most 128 characters, such as name@example.com";
const ATOM = "[\\p{L}\\p{M}\\p{N}!#$%&'*+/=?^_`{|}~-]+";
const LABEL = "[\\p{L}\\p{N}](?:[\\p{L}\\p{M}\\p{N}-]{0,61}[\\p{L}\\p{M}\\p{N}])?";
const ADDRESS = new RegExp(`^(?=[^@]{1,64}@)${ATOM}(?:\\.${ATOM})*@(?:${LABEL}\\.)+(?!\\p{N}+$)(?=..)${LABEL}$`, "u");

/**
 * An address that mail servers accept: words and dots before the @, a domain name after it, in any script or in
 * punycode (RFC 5322 and 6531). No quoted words, comments or IP address literals, which nobody uses and many refuse.
 */
export const Email = z
  .stringFormat("email", (text) => ADDRESS.test(text), { error: EMAIL, abort: true })
  .max(128, EMAIL);
