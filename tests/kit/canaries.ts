import { appendFileSync, readFileSync } from "node:fs";
import { inStack } from "../../tools/stack/paths.ts";

/** The kinds of secrets that a run must have used before a scan for them is meaningful. */
export const kindsOfSecret = [
  "personal token",
  "access token",
  "refresh token",
  "client secret",
  "authorization code",
  "code of a device",
  "password",
  "TOTP seed",
  "scratch code",
  "password link",
  "session cookie",
  "upload address",
  "image link",
] as const;
export type KindOfSecret = (typeof kindsOfSecret)[number];

const file = inStack("canaries.jsonl");

/** Records a secret of this run, which the scanner searches for at the end. Returns it. */
export function canary(kind: KindOfSecret, secret: string): string {
  if (secret.length < 8)
    throw new Error(`A ${kind} of ${secret.length} characters cannot be distinguished from other text.`);
  appendFileSync(file, `${JSON.stringify({ kind, secret })}\n`, { mode: 0o600 });
  return secret;
}

export function readCanaries(): { kind: KindOfSecret; secret: string }[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return [...new Set(lines)].map((line) => JSON.parse(line) as { kind: KindOfSecret; secret: string });
}
