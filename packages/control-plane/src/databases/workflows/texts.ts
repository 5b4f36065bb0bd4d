import { defineTexts, text } from "@moorage/contract/texts";

type Why = { why: string };

export const texts = defineTexts("operation", {
  // Reasons in other texts

  databaseNotOnHost: text(
    () => "a host lost this database when the control plane was restored from a backup. Ask the operator.",
  ),
  noCapacityOnHost: text(() => "a host of this database has no capacity for the change. Ask the operator."),
  startedTooLate: text(() => "the control plane did not start the change before its deadline."),
  nodesLate: text(() => "not all nodes joined in time."),
  noCapacityForReplacement: text(
    () => "no other host of the region has capacity for the new node. The control plane tries again.",
  ),
  overtaken: text(
    () =>
      "another operation of the database started first. If a node is still lost after that operation, the control plane tries again.",
  ),
  replacementLate: text(() => "the new node was not ready in time."),
  primaryNotAgreed: text(() => "the nodes did not agree on the new primary in time."),

  // Ends of operations

  resumedWithoutMajority: text(
    () =>
      "The database is not suspended any more, but it does not serve: the hosts of two of its three nodes are lost, and only they may have had its last transactions. Restore the database to a backup, fork it, delete it, or ask the operator to continue with the node that is left.",
  ),
  bootstrapFailed: text(
    ({ why }: Why) => `Replication between the nodes of the database could not be started: ${why}`,
    { why: "not all nodes joined in time." },
  ),
  replacementFailed: text(({ why }: Why) => `A lost node could not be replaced: ${why}`, {
    why: "the new node was not ready in time.",
  }),
  replacementDiverged: text(
    () => "The primary changed while the node received its data, and lacks a part of them. The node is replaced again.",
  ),
  replacementNotNeeded: text(() => "The lost node is back. No replacement was needed."),
  replacementNotInDns: text(
    () =>
      "The node was replaced. The DNS records of the database do not have the address of the new node yet. Clients that try the old address continue with the next one.",
  ),
  switchoverFailed: text(({ why }: Why) => `The primary was not changed: ${why}`, {
    why: "the nodes did not agree on the new primary in time.",
  }),
});
