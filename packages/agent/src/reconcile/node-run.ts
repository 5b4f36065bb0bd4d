import type { NodeSpec } from "@moorage/contract/agent";
import { stepDelayMs } from "../base/try-again.ts";

/** A server that ran this long before it died is not in a crash loop. */
const stableMs = 60_000;

/** What the agent remembers of one node between its runs. */
export type NodeRun = {
  /** The spec that the attempts and the waiting are about: a newer one starts afresh, without a retry delay. */
  readonly spec: NodeSpec;
  attempts: Attempts;
  /** It last waited for other members: reported once, however often it is checked again. */
  isWaiting: boolean;
  /** Its provision waits until the server is ready, and then goes on: nobody is admitted before it is complete. */
  isProvisioning: boolean;
  /** The spec by which the node serves until the data of the desired one are made. */
  serving: NodeSpec | undefined;
  /** When the certificate and the baseline may be tried again. */
  renewAfter: number;
  baselineAfter: number;
};

export const runFor = (spec: NodeSpec, before: NodeRun | undefined): NodeRun =>
  before?.spec === spec
    ? before
    : {
        spec,
        attempts: { attempt: 0 },
        isWaiting: false,
        isProvisioning: before?.isProvisioning ?? false,
        // Until it is known for the newer spec.
        serving: before?.serving,
        renewAfter: before?.renewAfter ?? 0,
        baselineAfter: before?.baselineAfter ?? 0,
      };

export type Attempts = { attempt: number; runningSince?: number; gaveUp?: true };

/** `down`: it is about to be provisioned, because it was never running or runs no longer. */
export type Outcome = "running" | "resting" | "down" | "failed" | "gave up";

/** The attempts after an outcome, and how long the next one has to wait: 0 if it may begin at once. */
export function nextAttempt(before: Attempts, outcome: Outcome, now: number): { attempts: Attempts; waitMs: number } {
  const { attempt, runningSince } = before;
  switch (outcome) {
    case "running":
      return { attempts: { attempt, runningSince: runningSince ?? now }, waitMs: 0 };
    case "resting":
      return { attempts: { attempt: 0 }, waitMs: 0 };
    case "down":
      if (runningSince === undefined) return { attempts: before, waitMs: 0 };
      // Restarted at once if it was stable, with growing delays if it keeps dying.
      if (now - runningSince > stableMs) return { attempts: { attempt: 0 }, waitMs: 0 };
      return { attempts: { attempt: attempt + 1 }, waitMs: stepDelayMs(attempt) };
    case "failed":
      return { attempts: { attempt: attempt + 1 }, waitMs: stepDelayMs(attempt + 1) };
    case "gave up":
      return { attempts: { attempt, gaveUp: true }, waitMs: Number.POSITIVE_INFINITY };
  }
}

/** What a verdict on a failed run depends on. */
export type Failure = {
  /** Failed runs of the same spec before this one. */
  attempt: number;
  /** The step table that was run; undefined if the run failed before one was chosen. */
  table: string | undefined;
  tombstone: boolean;
  /** A person must act: retrying cannot help. */
  cannotHeal: boolean;
  /** The gateway is unreachable; the node itself may be healthy. */
  gatewayAway: boolean;
  neverHadData: boolean;
  /** The node reached an earlier spec, but not this one yet. */
  changing: boolean;
};

/** `give up`: failed, and not retried before a newer spec arrives. `failed`: reported, while retries continue. */
export type FailureVerdict = "give up" | "failed" | "working";

/** With the delays between attempts: seconds for a run that fails at once, minutes for a server that hangs. */
const tries = 3;

/**
 * Whoever waits for a change learns that it failed, and can request the old state again. A node that failed without a
 * change is repaired without limit, and a tombstone cannot be undone.
 */
export function failureVerdict(failure: Failure): FailureVerdict {
  const { attempt, table, tombstone, cannotHeal, gatewayAway, neverHadData, changing } = failure;
  if (tombstone) return "working";
  if (cannotHeal && neverHadData) return "give up";
  if (gatewayAway) return "working";
  const lastTry = attempt + 1 >= tries;
  // The old allow list is in force, and the node serves.
  if (table === "firewall") return lastTry ? "failed" : "working";
  return changing && (cannotHeal || lastTry) ? "failed" : "working";
}
