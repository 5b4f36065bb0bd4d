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
export type Verdict = "give up" | "failed" | "working";

/** With the delays between attempts: seconds for a run that fails at once, minutes for a server that hangs. */
const tries = 3;

/**
 * Whoever waits for a change learns that it failed, and can request the old state again. A node that failed without a
 * change is repaired without limit, and a tombstone cannot be undone.
 */
export function failureVerdict(failure: Failure): Verdict {
  const { attempt, table, tombstone, cannotHeal, gatewayAway, neverHadData, changing } = failure;
  if (tombstone) return "working";
  if (cannotHeal && neverHadData) return "give up";
  if (gatewayAway) return "working";
  const lastTry = attempt + 1 >= tries;
  // The old allow list is in force, and the node serves.
  if (table === "firewall") return lastTry ? "failed" : "working";
  return changing && (cannotHeal || lastTry) ? "failed" : "working";
}
