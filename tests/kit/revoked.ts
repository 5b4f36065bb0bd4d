import { until } from "@moorage/testkit/until.ts";

/** An API process caches a token for 5 s. A refusal within that time proves that it was notified of the revocation. */
const REMEMBERED_MS = 5000;
const PATIENCE_MS = 600_000;

/** When the processes began to cache the token, and whether they refuse it by now. */
export type Revoked = { cachedAt: number; isRefused: () => Promise<boolean> };

/**
 * After the revocation every process refuses the token before its cache entry would have expired. A machine that is too
 * busy to show that in time repeats it with another token.
 */
export async function refusedByMessage(what: string, revoke: () => Promise<Revoked>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const { cachedAt, isRefused } = await revoke();
    await until(what, 60, isRefused);
    const tookMs = Date.now() - cachedAt;
    if (tookMs < REMEMBERED_MS) return;
    if (Date.now() > deadline) throw new Error(`${what}, but only ${tookMs} ms after it was cached`);
  }
}
