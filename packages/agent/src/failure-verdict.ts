/** All that counts of a run that failed. */
export type Failure = {
  /** Runs for the same spec that failed before this one. */
  attempt: number;
  /** The step table that was run; undefined when it did not come to that. */
  table: string | undefined;
  tombstone: boolean;
  /** A person must act: trying again cannot help. */
  cannotHeal: boolean;
  /** The gateway did not answer, which says nothing about the node. */
  gatewayAway: boolean;
  neverHadData: boolean;
  /** The node was once as a spec wanted it, and never yet as this one does. */
  changing: boolean;
};

/** `give up`: failed, and not tried again before a newer spec comes. `failed`: told, while trying goes on. */
export type Verdict = "give up" | "failed" | "working";

/** With the delays between them, a few seconds for what fails at once, and minutes for a server that hangs. */
const tries = 3;

/**
 * Whoever waits for a change is told that it cannot be made, so that they can want the old state again; a node that
 * only fell ill is worked on without an end, and a tombstone has no way back.
 */
export function failureVerdict(failure: Failure): Verdict {
  const { attempt, table, tombstone, cannotHeal, gatewayAway, neverHadData, changing } = failure;
  if (tombstone) return "working";
  if (cannotHeal && neverHadData) return "give up";
  if (gatewayAway) return "working";
  const lastTry = attempt + 1 >= tries;
  // The old list is in force, and the node serves.
  if (table === "firewall") return lastTry ? "failed" : "working";
  return changing && (cannotHeal || lastTry) ? "failed" : "working";
}
