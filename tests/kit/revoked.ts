import { until } from "./until.ts";

/** An API process caches a token for 5 s. A refusal within that time proves that it was notified of the revocation. */
const REMEMBERED_MS = 5000;

/** After the revocation every process refuses the token, before its cache entry would have expired. */
export async function refusedByMessage(what: string, isRefused: () => Promise<boolean>): Promise<void> {
  const revoked = Date.now();
  await until(what, 60, isRefused);
  const tookMs = Date.now() - revoked;
  if (tookMs > REMEMBERED_MS * 0.9) throw new Error(`${what}, but only after ${tookMs} ms`);
}
