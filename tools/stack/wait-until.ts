import { setTimeout as sleep } from "node:timers/promises";

/** Repeats the check until it succeeds, and returns whether it did in time. An error counts as no. */
export async function waitUntil(seconds: number, check: () => Promise<boolean>, everyMs = 50): Promise<boolean> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    if (await check().catch(() => false)) return true;
    if (Date.now() > end) return false;
    await sleep(everyMs);
  }
}
