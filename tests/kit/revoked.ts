import { until } from "./until.ts";

/** An API process remembers a token for 5 s. One that it refuses sooner than that was taken from it by a message. */
const REMEMBERED_MS = 5000;

/** Since the token was revoked: every process refuses it, and none of them because it forgot it by itself. */
export async function refusedByMessage(what: string, isRefused: () => Promise<boolean>): Promise<void> {
  const revoked = Date.now();
  await until(what, 60, isRefused);
  const tookMs = Date.now() - revoked;
  if (tookMs > REMEMBERED_MS * 0.9) throw new Error(`${what}, but only after ${tookMs} ms`);
}
