import { defineTexts, text } from "@moorage/contract/texts";

type Why = { why: string };

export const texts = defineTexts("operation", {
  // Reasons in other texts

  databaseNotOnHost: text(
    () => "a host lost this database when the control plane was restored from a backup. Ask the operator.",
  ),
  noCapacityOnHost: text(() => "a host of this database has no capacity for the change. Ask the operator."),
  startedTooLate: text(() => "the change could not start in time."),
  nodesLate: text(() => "not all nodes joined in time."),
  noCapacityForReplacement: text(
    () => "no other host of the region has capacity for the new node. The control plane tries again.",
  ),
  overtaken: text(() => "another operation changed the database meanwhile."),
  replacementLate: text(() => "the new node was not ready in time."),
  primaryNotAgreed: text(() => "the nodes did not agree on the new primary in time."),

  // Ends of operations

  bootstrapFailed: text(
    ({ why }: Why) => `Replication between the nodes of the database could not be started: ${why}`,
    { why: "not all nodes joined in time." },
  ),
  replacementFailed: text(({ why }: Why) => `A lost node could not be replaced: ${why}`, {
    why: "the new node was not ready in time.",
  }),
  replacementNotNeeded: text(() => "The lost node is back. No replacement was needed."),
  replacementNotInDns: text(
    () => "The node was replaced. The DNS records of the database do not have the address of the new node yet.",
  ),
  switchoverFailed: text(({ why }: Why) => `The primary was not changed: ${why}`, {
    why: "the nodes did not agree on the new primary in time.",
  }),
});
