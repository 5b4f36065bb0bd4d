import { type Budgets, createBudgets } from "#platform/limits/budgets.ts";
import { networkOf } from "#platform/limits/caller.ts";
import { intervalMs, type Limit } from "#platform/limits/gcra.ts";
import type { SharedLimits } from "#platform/limits/shared-limits.ts";
import type { Log } from "#platform/log.ts";
import { sha256 } from "#platform/sha256.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;

type Budget = { pair?: Limit; network: Limit; who?: Limit };

/**
 * How often something may be tried: by one network at one user, by one network at all, and at one user from anywhere.
 * A pair's budget fills more slowly than its user's, and what one budget refuses is taken from none: so no network
 * alone can use up what a user has, and the owner gets in from elsewhere.
 */
const budgets = {
  password: {
    pair: { requests: 5, perSeconds: 10 * MINUTE },
    network: { requests: 30, perSeconds: 10 * MINUTE },
    who: { requests: 100, perSeconds: HOUR },
  },
  // Only somebody who has the password gets here, so the user's own is small: ten an hour in the long run.
  code: {
    pair: { requests: 5, perSeconds: 50 * MINUTE },
    network: { requests: 30, perSeconds: 10 * MINUTE },
    who: { requests: 20, perSeconds: 2 * HOUR },
  },
  passkey: { network: { requests: 30, perSeconds: 10 * MINUTE } },
  // Each is a row for minutes.
  challenge: { network: { requests: 100, perSeconds: 10 * MINUTE } },
  // Each is a letter to somebody.
  forgot: {
    pair: { requests: 3, perSeconds: HOUR },
    network: { requests: 20, perSeconds: HOUR },
    who: { requests: 6, perSeconds: HOUR },
  },
  // Each is a row for ten minutes.
  device: { network: { requests: 30, perSeconds: 10 * MINUTE } },
  // One of 25 billion codes, while it is waited for.
  userCode: { network: { requests: 20, perSeconds: 10 * MINUTE } },
  // Devices ask every five seconds. A network may have many.
  devicePoll: { pair: { requests: 2, perSeconds: 8 }, network: { requests: 600, perSeconds: 10 * MINUTE } },
  link: { network: { requests: 30, perSeconds: 10 * MINUTE } },
  // Rows of attempts that were not even looked at.
  refusedRecord: { network: { requests: 60, perSeconds: MINUTE } },
} as const satisfies Record<string, Budget>;

/** `who` is what was typed or known of a user: a name, or an id. */
export type Attempt = { at: keyof typeof budgets; ip: string; who?: string };

export type Throttle = {
  /** Seconds to wait; 0: it may be tried, and is counted. */
  take(attempt: Attempt): Promise<number>;
  /** It was right, so it does not count; and what this network spent at this user before it is forgiven. */
  refund(attempt: Attempt): Promise<void>;
  close(): void;
};

export function createThrottle({ shared, log }: { shared: SharedLimits; log: Log }): Throttle {
  const spent: Budgets = createBudgets({ shared, log });
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

/** For tests that are about something else. */
export const createNoThrottle = (): Throttle => ({ take: async () => 0, refund: async () => {}, close: () => {} });

/** What was typed as a name may be a password: only its hash leaves this process. */
function cellsOf({ at, ip, who }: Attempt): { of: keyof Budget; key: string; limit: Limit }[] {
  const { pair, network, who: anywhere }: Budget = budgets[at];
  const from = networkOf(ip);
  const name = who === undefined ? undefined : sha256(who.toLowerCase()).toString("base64url");
  // In braces: the part that a Valkey cluster places by, so that all keys of one attempt are on one server.
  const key = (...parts: string[]): string => ["{sign-in}", at, ...parts].join(":");
  return [
    ...(pair === undefined || name === undefined ? [] : [{ of: "pair" as const, key: key(name, from), limit: pair }]),
    { of: "network" as const, key: key("from", from), limit: network },
    ...(anywhere === undefined || name === undefined ? [] : [{ of: "who" as const, key: key(name), limit: anywhere }]),
  ];
}
