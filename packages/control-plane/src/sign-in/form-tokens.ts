import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { KeyRing } from "#platform/seal.ts";

/** CSRF tokens: prove that a form came from our page, for one purpose and one interaction or session. */
export type FormTokens = {
  make(purpose: string, of: string): string;
  isRight(token: string, purpose: string, of: string): boolean;
};

export function createFormTokens({ current, keys }: KeyRing): FormTokens {
  const secretOf = (id: string): Buffer =>
    Buffer.from(hkdfSync("sha256", Buffer.from(keys[id] ?? "", "base64"), "", "moorage forms", 32));
  const newest = secretOf(current);
  // Former keys are valid too, while an operator rotates them.
  const all = [
    newest,
    ...Object.keys(keys)
      .filter((id) => id !== current)
      .map(secretOf),
  ];
  const tokenBy = (secret: Buffer, purpose: string, of: string): Buffer =>
    createHmac("sha256", secret)
      .update(JSON.stringify([purpose, of]))
      .digest();
  return {
    make: (purpose, of) => tokenBy(newest, purpose, of).toString("base64url"),
    isRight(token, purpose, of) {
      const given = Buffer.from(token, "base64url");
      return all.some((secret) => {
        const right = tokenBy(secret, purpose, of);
        return given.length === right.length && timingSafeEqual(given, right);
      });
    },
  };
}
