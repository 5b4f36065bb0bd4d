import type { Event } from "@moorage/contract";
import type { Tenant } from "./tenant.ts";

const EVERY_MS = 100;

/** The progress values of one event, in the order in which they appeared, each once. */
export type Watched = { action: string; status: Event["status"]; percents: number[]; samples: number };

/**
 * Reads the newest events ten times a second, as a tenant would, until it is stopped. `faults`: values that fell, and
 * 100 for an operation that has not finished.
 */
export function watchProgress(alice: Tenant) {
  const seen = new Map<number, Watched>();
  const faults: string[] = [];
  let going = true;

  const sample = async (): Promise<void> => {
    const { status, body } = await alice.call<{ data: Event[] }>("GET", "/v4/account/events?page_size=100");
    if (status !== 200) return;
    for (const { id, action, percent_complete, status: now } of body.data) {
      const known = seen.get(id) ?? { action, status: now, percents: [], samples: 0 };
      seen.set(id, known);
      known.samples++;
      if (percent_complete === null) continue;
      const before = known.percents.at(-1) ?? 0;
      if (percent_complete < before) faults.push(`${action} ${id} fell from ${before} to ${percent_complete}`);
      if (now === "started" && percent_complete === 100) faults.push(`${action} ${id} shows 100 and has not finished`);
      if (now === "finished" && percent_complete !== 100) faults.push(`${action} ${id} ended at ${percent_complete}`);
      if (percent_complete !== known.percents.at(-1)) known.percents.push(percent_complete);
      known.status = now;
    }
  };
  const watching = (async () => {
    while (going) {
      const next = new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      // Retries if the server is busy or stopped by a test.
      await sample().catch(() => {});
      await next;
    }
  })();
  return {
    seen,
    faults,
    async stop(): Promise<void> {
      going = false;
      // Not at the same time: an older answer may arrive later.
      await watching;
      await sample();
    },
  };
}
