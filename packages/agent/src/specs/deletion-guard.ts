import { type KeyObject, verify } from "node:crypto";
import { type DeletionAllowance, signedText } from "@moorage/contract/agent";
import { z } from "zod";

export const Deletion = z.object({
  node: z.uuid(),
  /** What is given up: the whole node, its volume of an earlier timeline, or its data for another member's. */
  kind: z.enum(["node", "timeline", "reclone"]).default("node"),
  /** The ordinal of the timeline, or the id of the order to re-clone. */
  id: z.string().optional(),
  at: z.string(),
  /** The signed text of the allowance that was used (a signature has many encodings); absent: the limits were used. */
  allowance: z.string().optional(),
  /** The end of that allowance. */
  until: z.string().optional(),
});
export type Deletion = z.output<typeof Deletion>;
export type DeletionOf = Pick<Deletion, "node" | "kind" | "id">;

/**
 * How many deletions a host performs without an allowance: in a window all kinds together, in a day re-clones apart from
 * the others (ADR 33).
 */
export type DeletionLimits = { perWindow: number; windowMs: number; perDay: number };

export type GuardInput = {
  of: DeletionOf;
  now: Date;
  /** Every deletion that was started and is still recorded. */
  deletions: readonly Deletion[];
  limits: DeletionLimits;
  host: number | undefined;
  allowance: DeletionAllowance | undefined;
  operatorKey: KeyObject;
};
export type Held = { kind: "held"; by: "window" | "day"; retryAt: Date };
export type Verdict = { kind: "started" } | { kind: "admit"; deletion: Deletion } | Held;

export const dayMs = 24 * 3_600_000;

/** A misbehaving control plane can delete the data of a few nodes; after that a person has to allow more. */
export function guardDeletion(input: GuardInput): Verdict {
  const { of, now, deletions, limits, allowance } = input;
  // It was counted before it started, so an interrupted deletion continues.
  if (deletions.some((deletion) => isSame(deletion, of))) return { kind: "started" };

  const unsigned = deletions.filter((deletion) => deletion.allowance === undefined);
  const inWindow = roomAt(unsigned, now, limits.perWindow, limits.windowMs);
  const sameBudget = unsigned.filter(({ kind }) => (kind === "reclone") === (of.kind === "reclone"));
  const inDay = roomAt(sameBudget, now, limits.perDay, dayMs);
  const at = now.toISOString();
  if (inWindow === undefined && inDay === undefined) return { kind: "admit", deletion: { ...of, at } };
  if (allowance && isGood(allowance, input)) {
    const { until } = allowance;
    return { kind: "admit", deletion: { ...of, at, allowance: signedText(allowance), until } };
  }
  return {
    kind: "held",
    by: inDay === undefined ? "window" : "day",
    retryAt: new Date(Math.max(inWindow ?? 0, inDay ?? 0)),
  };
}

const isSame = (one: DeletionOf, other: DeletionOf): boolean =>
  one.node === other.node && one.kind === other.kind && one.id === other.id;

/** When fewer than `limit` of them are within `ms` again; undefined: they are now. */
function roomAt(deletions: readonly Deletion[], now: Date, limit: number, ms: number): number | undefined {
  const within = deletions
    .map((deletion) => Date.parse(deletion.at))
    .filter((at) => at > now.getTime() - ms)
    .sort((a, b) => a - b);
  return within.length < limit ? undefined : (within[within.length - limit] ?? now.getTime()) + ms;
}

function isGood(allowance: DeletionAllowance, { host, now, deletions, operatorKey }: GuardInput): boolean {
  const used = deletions.filter((deletion) => deletion.allowance === signedText(allowance)).length;
  return (
    allowance.host === host &&
    Date.parse(allowance.from) <= now.getTime() &&
    now.getTime() < Date.parse(allowance.until) &&
    used < allowance.count &&
    verify(null, Buffer.from(signedText(allowance)), operatorKey, Buffer.from(allowance.signature, "base64"))
  );
}

/**
 * Drops the entries that count nowhere any more. Those of an allowance are kept to its end, also while the host has
 * another one: whoever passes allowances on could send it again.
 */
export const rememberDeletions = (deletions: readonly Deletion[], now: Date, limits: DeletionLimits): Deletion[] =>
  deletions.filter(
    ({ at, until }) =>
      Date.parse(at) > now.getTime() - Math.max(dayMs, limits.windowMs) ||
      (until !== undefined && Date.parse(until) > now.getTime()),
  );

const subjects = {
  node: () => "The deletion of this node",
  timeline: ({ id }: DeletionOf) => `The deletion of timeline ${id} of this node, which serves on a later one,`,
  reclone: () => "The re-clone of this member, which would overwrite its data,",
};

/** For the report of what is held. */
export function heldText(of: DeletionOf, { by, retryAt }: Held, limits: DeletionLimits): string {
  const { perWindow, windowMs, perDay } = limits;
  const inDay = `${perDay} ${of.kind === "reclone" ? "re-clones" : "deletions"} in 24 hours`;
  const limit = by === "day" ? inDay : `${perWindow} deletions and re-clones in ${windowMs / 1000} s`;
  return (
    `${subjects[of.kind](of)} is held by the limit of its host: ${limit}. It continues at ${retryAt.toISOString()}, ` +
    "or as soon as the operator allows it: `moorage admin host allow-deletions <host> --count 1`."
  );
}
