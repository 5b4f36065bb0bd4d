import type { AnyOperation } from "@moorage/contract";
import { errorOf, NoAnswer } from "./api-error.ts";

const LONGEST_WAIT_SECONDS = 60;

export type Sender = {
  fetch: typeof fetch;
  /** Per attempt, until the whole answer is read. */
  timeoutMs: number;
  tries: number;
  onIgnored?: ((fields: string, operation: AnyOperation) => void) | undefined;
};

export type Request = {
  operation: AnyOperation;
  url: string;
  init: RequestInit;
  signal: AbortSignal | undefined;
  read: (reply: Response) => Promise<unknown>;
};

/**
 * Sends until there is an answer. A request that was lost or refused by an overloaded server is retried, but only if
 * that is safe: the method is idempotent, or the request has an idempotency key.
 */
export async function send(sender: Sender, request: Request): Promise<unknown> {
  const { operation, url, signal } = request;
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    const last = attempt >= sender.tries;
    const outcome = await attemptOf(sender, request).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (last) throw new NoAnswer(operation.id, url, attempt, error);
      return undefined;
    });
    if (outcome !== undefined && "answer" in outcome) return outcome.answer;
    if (outcome !== undefined && (last || !mayRepeat(outcome.refused)))
      throw await errorOf(operation.id, outcome.refused);
    await outcome?.refused.body?.cancel();
    await delay(waitOf(outcome?.refused, attempt), signal);
  }
}

async function attemptOf({ fetch, timeoutMs, onIgnored }: Sender, { operation, url, init, signal, read }: Request) {
  const timeout = AbortSignal.timeout(timeoutMs);
  const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  const reply = await fetch(url, { ...init, signal: either });
  if (!reply.ok) return { refused: reply };
  const ignored = reply.headers.get("x-ignored-fields");
  if (ignored !== null) onIgnored?.(ignored, operation);
  return { answer: reply.status === 204 ? undefined : await read(reply) };
}

/** 429 is refused before anything is done; the others come from a proxy in between, or from an overloaded server. */
const passing = [408, 429, 502, 503, 504];

/** Maintenance lasts longer than a caller should wait. */
const mayRepeat = ({ status, headers }: Response): boolean =>
  passing.includes(status) && !headers.has("x-maintenance-mode");

function waitOf(reply: Response | undefined, attempt: number): number {
  const retryAfter = Number(reply?.headers.get("retry-after") ?? Number.NaN);
  if (Number.isFinite(retryAfter)) return Math.min(Math.max(retryAfter, 0), LONGEST_WAIT_SECONDS) * 1000;
  return 200 * 2 ** attempt * (0.5 + Math.random() / 2);
}

/** This package also runs in browsers, which have no promise-based timers. */
export const delay = (ms: number, signal?: AbortSignal | null): Promise<void> =>
  new Promise((resolve, reject) => {
    const giveUp = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", giveUp);
      resolve();
    }, ms);
    if (signal?.aborted === true) giveUp();
    else signal?.addEventListener("abort", giveUp, { once: true });
  });
