import { type KeyObject, verify } from "node:crypto";
import { type DeletionAllowance, signedText } from "@moorage/contract/agent";
import { z } from "zod";

export const Deletion = z.object({
  node: z.uuid(),
  at: z.string(),
  /** The signed text of the allowance that was used (a signature has many encodings); absent: the window was used. */
  allowance: z.string().optional(),
});
export type Deletion = z.output<typeof Deletion>;

export type GuardInput = {
  node: string;
  now: Date;
  /** Every deletion that was started and is still recorded. */
  deletions: readonly Deletion[];
  perWindow: number;
  windowMs: number;
  host: number | undefined;
  allowance: DeletionAllowance | undefined;
  operatorKey: KeyObject;
};
export type Verdict = { kind: "started" } | { kind: "admit"; deletion: Deletion } | { kind: "held"; retryAt: Date };

/** A misbehaving control plane can delete a few nodes of a host; after that a person has to allow more. */
export function guardDeletion(input: GuardInput): Verdict {
  const { node, now, deletions, perWindow, windowMs, allowance } = input;
  // It was counted before it started, so an interrupted deletion continues.
  if (deletions.some((deletion) => deletion.node === node)) return { kind: "started" };

  const inWindow = deletions
    .filter((deletion) => deletion.allowance === undefined)
    .map((deletion) => Date.parse(deletion.at))
    .filter((at) => at > now.getTime() - windowMs)
    .sort((a, b) => a - b);
  const at = now.toISOString();
  if (inWindow.length < perWindow) return { kind: "admit", deletion: { node, at } };
  if (allowance && isGood(allowance, input)) {
    return { kind: "admit", deletion: { node, at, allowance: signedText(allowance) } };
  }
  const freeAt = inWindow[inWindow.length - perWindow] ?? now.getTime();
  return { kind: "held", retryAt: new Date(freeAt + windowMs) };
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

const rememberedMs = 24 * 3_600_000;

/** Drops old entries, except those of an allowance that is still valid: it must not be used twice. */
export const rememberDeletions = (
  deletions: readonly Deletion[],
  now: Date,
  allowance?: DeletionAllowance,
): Deletion[] =>
  deletions.filter(
    (deletion) =>
      Date.parse(deletion.at) > now.getTime() - rememberedMs ||
      (allowance !== undefined && deletion.allowance === signedText(allowance)),
  );
