import { errorOf } from "./api-error.ts";
import { delay } from "./delay.ts";

const TRIES = 4;
const LONGEST_WAIT_SECONDS = 60;

/**
 * Sends until it is answered. What was refused for want of room or lost on the way is sent again, but only if doing it
 * twice does no harm: the method is safe, or a key names the request.
 */
export async function send(
  url: string,
  request: RequestInit,
  repeatable: boolean,
  read: (reply: Response) => Promise<unknown>,
): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    const last = attempt === TRIES;
    const reply = await fetch(url, request).catch((error: unknown) => {
      if (last || !repeatable || request.signal?.aborted === true) throw error;
      return undefined;
    });
    if (reply?.ok === true) return reply.status === 204 ? undefined : read(reply);
    if (reply !== undefined && (last || !mayRepeat(reply, repeatable))) throw await errorOf(reply);
    await reply?.body?.cancel();
    await delay(waitOf(reply, attempt), request.signal);
  }
}

function mayRepeat({ status, headers }: Response, repeatable: boolean): boolean {
  // Refused before anything was done, whatever it was.
  if (status === 429) return true;
  // Maintenance lasts longer than a caller should wait.
  return status === 503 && repeatable && !headers.has("x-maintenance-mode");
}

function waitOf(reply: Response | undefined, attempt: number): number {
  const told = Number(reply?.headers.get("retry-after") ?? Number.NaN);
  if (Number.isFinite(told)) return Math.min(told, LONGEST_WAIT_SECONDS) * 1000;
  return 200 * 2 ** attempt * (0.5 + Math.random() / 2);
}
