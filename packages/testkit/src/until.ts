const POLL_MS = 100;
/** A shorter time would only show that a machine is busy. */
const LEAST_SECONDS = 1200;

/** Waits for a condition, never for a time. Errors of the check count as "not yet". */
export async function until<T>(
  what: string,
  seconds: number,
  check: () => Promise<T | undefined | null | false>,
): Promise<T> {
  const patience = Math.max(seconds, LEAST_SECONDS);
  const deadline = Date.now() + patience * 1000;
  let last: unknown;
  for (;;) {
    try {
      const answer = await check();
      if (answer !== undefined && answer !== null && answer !== false) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`Not within ${patience} s: ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
