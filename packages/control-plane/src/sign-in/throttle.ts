import { networkOf } from "#platform/limits/caller.ts";
import { intervalMs, type Limit } from "#platform/limits/gcra.ts";
import { type Budgets, createBudgets } from "#platform/limits/rate-limiter.ts";
import type { SharedLimits } from "#platform/limits/shared-limits.ts";
import type { Log } from "#platform/log.ts";
import { sha256 } from "#platform/sha256.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;

type Budget = { pair?: Limit; network?: Limit; who?: Limit };

/**
 * Limits of attempts: per network and user, per network, and per user. The budget of a pair refills more slowly than
 * that of the user, and an attempt refused by one budget is taken from none: no single network can use up a user's
 * budget. Some networks together can; a device in which the user has signed in before has a budget of its own.
 */
const budgets = {
  password: {
    pair: { requests: 5, perSeconds: 10 * MINUTE },
    network: { requests: 30, perSeconds: 10 * MINUTE },
    who: { requests: 100, perSeconds: HOUR },
  },
  // Only somebody with the password gets here, so the user's budget is small: ten an hour in the long run.
  code: {
    pair: { requests: 5, perSeconds: 50 * MINUTE },
    network: { requests: 30, perSeconds: 10 * MINUTE },
    who: { requests: 20, perSeconds: 2 * HOUR },
  },
  // `who` is the secret of a device.
  passwordOnDevice: { who: { requests: 5, perSeconds: 10 * MINUTE } },
  codeOnDevice: { who: { requests: 5, perSeconds: 50 * MINUTE } },
  passkey: { network: { requests: 30, perSeconds: 10 * MINUTE } },
  // Each stores a row for minutes.
  challenge: { network: { requests: 100, perSeconds: 10 * MINUTE } },
  // Each sends a mail.
  forgot: {
    pair: { requests: 3, perSeconds: HOUR },
    network: { requests: 20, perSeconds: HOUR },
    who: { requests: 6, perSeconds: HOUR },
  },
  // Each stores a row for ten minutes.
  device: { network: { requests: 30, perSeconds: 10 * MINUTE } },
  // A guess at one of 25 billion codes, while a login waits.
  userCode: { network: { requests: 20, perSeconds: 10 * MINUTE } },
  // Devices poll every five seconds. A network may have many.
  devicePoll: { pair: { requests: 2, perSeconds: 8 }, network: { requests: 600, perSeconds: 10 * MINUTE } },
  link: { network: { requests: 30, perSeconds: 10 * MINUTE } },
  // Rows of rate-limited attempts.
  refusedRecord: { network: { requests: 60, perSeconds: MINUTE } },
} as const satisfies Record<string, Budget>;

/** `who` is a user's name as typed, an id, or a secret. */
export type Attempt = { at: keyof typeof budgets; ip: string; who?: string };

export type Throttle = {
  /** Seconds to wait; 0: the attempt is allowed, and counted. */
  take(attempt: Attempt): Promise<number>;
  /**
   * For a right password or code: the attempt does not count, and earlier ones of this network for this user are
   * forgiven.
   */
  refund(attempt: Attempt): Promise<void>;
  close(): void;
};

export function createThrottle(deps: { shared: SharedLimits; log: Log; now?: () => number }): Throttle {
  const { shared } = deps;
  const spent: Budgets = createBudgets(deps);
  return {
    async take(attempt) {
      const cells = cellsOf(attempt);
      const { allowed, retryAfter } = await spent.take(
        cells.map(({ key }) => key),
        cells.map(({ limit }) => limit),
      );
      return allowed ? 0 : retryAfter;
    },
    async refund(attempt) {
      const cells = cellsOf(attempt);
      await spent.refund(
        cells.map(({ key }) => key),
        cells.map(({ of, limit }) => (of === "pair" ? limit.perSeconds * 1000 : intervalMs(limit))),
      );
    },
    close: shared.close,
  };
}

/**
 * The attempt that is allowed: of the device's own budget, or of those that everybody has. So a device of the user is not
 * blocked by attempts from elsewhere, and somebody who has stolen its secret cannot block it either.
 */
export async function takeAttempt(
  throttle: Pick<Throttle, "take">,
  attempt: Attempt & { at: "password" | "code" },
  device: string | undefined,
): Promise<{ seconds: number; attempt: Attempt }> {
  if (device === undefined) return { seconds: await throttle.take(attempt), attempt };
  const own: Attempt = { at: `${attempt.at}OnDevice`, ip: attempt.ip, who: device };
  const wait = await throttle.take(own);
  if (wait === 0) return { seconds: 0, attempt: own };
  return { seconds: Math.min(wait, await throttle.take(attempt)), attempt };
}

/** For tests of other things. */
export const createNoThrottle = (): Throttle => ({ take: async () => 0, refund: async () => {}, close: () => {} });

/** Somebody may type a password as the name: only its hash leaves this process. */
function cellsOf({ at, ip, who }: Attempt): { of: keyof Budget; key: string; limit: Limit }[] {
  const { pair, network, who: anywhere }: Budget = budgets[at];
  const from = networkOf(ip);
  const name = who === undefined ? undefined : sha256(who.toLowerCase()).toString("base64url");
  // The part in braces is Valkey's hash tag, so that all keys of one attempt are on one server.
  const key = (...parts: string[]): string => ["{sign-in}", at, ...parts].join(":");
  return [
    ...(pair === undefined || name === undefined ? [] : [{ of: "pair" as const, key: key(name, from), limit: pair }]),
    ...(network === undefined ? [] : [{ of: "network" as const, key: key("from", from), limit: network }]),
    ...(anywhere === undefined || name === undefined ? [] : [{ of: "who" as const, key: key(name), limit: anywhere }]),
  ];
}
