import { defineTexts, text } from "@moorage/contract/texts";

type OfLabel = { label: string };
const ORDERS = { label: "orders" };
type ContinuedAlone = OfLabel & { ordinal: number; losses: readonly { count: number; at: string }[] };
type Where = { where: string };
const WHERE = { where: "node 2 (host-3) is lost with its host" };
type OfNode = { ordinal: number; host: string };
const NODE = { ordinal: 2, host: "host-3" };
type OfBroken = OfNode & { message: string | null };
const BROKEN: OfBroken = { ...NODE, message: null };

/** Milliseconds since the old primary was last healthy; null: not reported. See `phasesOf`. */
type Receipt = {
  from: number;
  to: number;
  phases: { missed: number | null; elected: number | null; led: number | null; all_led: number | null };
  lost: number | string;
  /** The name of the saved transactions, and a UTC time. */
  saved: { name: string; until: string } | null;
  gtidBefore: string | null;
  gtidAfter: string | null;
};
const RECEIPT: Receipt = {
  from: 0,
  to: 1,
  phases: { missed: 900, elected: 1200, led: 1400, all_led: 1500 },
  lost: 4,
  saved: { name: "lost/2.ab", until: "2026-01-08T00:00:00" },
  gtidBefore: "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77",
  gtidAfter: null,
};
const SWITCHOVER: Receipt = { ...RECEIPT, lost: 0, saved: null };

function receipt({ from, to, phases: { missed, elected, led, all_led }, ...rest }: Receipt): string {
  const timings = [
    ...(missed === null ? [] : [`failure detected after ${missed} ms`]),
    ...(elected === null ? [] : [`node ${to} elected after ${elected} ms`]),
    ...(led === null ? [] : [`clients forwarded to node ${to} after ${led} ms`]),
    ...(all_led === null || all_led === led ? [] : [`by all proxies after ${all_led} ms`]),
  ];
  const { lost, saved, gtidBefore, gtidAfter } = rest;
  return [
    ...(timings.length === 0 ? [] : [`Times since node ${from} was last healthy: ${timings.join(", ")}.`]),
    `Transactions lost: ${lost}.`,
    ...(saved === null ? [] : [`The operator keeps them as ${saved.name} until ${saved.until} UTC.`]),
    ...(gtidBefore === null ? [] : [`GTID before: ${gtidBefore}.`]),
    ...(gtidAfter === null ? [] : [`GTID after: ${gtidAfter}.`]),
  ].join(" ");
}

/** The health of a cluster, for its tenant and for the operator, and the receipts of its failovers. */
export const texts = defineTexts("cluster", {
  degradedTitle: text(() => "Database is degraded"),
  stoppedTitle: text(() => "Database has stopped"),
  oneNodeDown: text(
    ({ label }: OfLabel) =>
      `One of the three nodes of ${label} is unhealthy. Reads and writes continue. The node rejoins by itself, or is replaced automatically.`,
    ORDERS,
  ),
  twoNodesUnseen: text(
    ({ label }: OfLabel) =>
      `The control plane cannot see two of the three nodes of ${label}. Reads and writes continue on the nodes that reach each other.`,
    ORDERS,
  ),
  restoreNeeded: text(
    ({ label }: OfLabel) =>
      `${label} has stopped: its remaining nodes lack transactions that its backups have. Restore ${label} to the newest point in time.`,
    ORDERS,
  ),
  primaryUnreachable: text(
    ({ label }: OfLabel) =>
      `Writes to ${label} are stopped: its primary is unreachable. The primary may still be running, so no node is promoted automatically; writes resume when the primary returns. To continue now, promote another node, which loses the transactions that only the old primary has: moorage db promote ${label}`,
    ORDERS,
  ),
  operatorMustDecide: text(
    ({ label }: OfLabel) =>
      `${label} has stopped: not all of its nodes are reachable, so it is unknown which node has every transaction. The operator must decide how to continue.`,
    ORDERS,
  ),
  noMajority: text(
    ({ label }: OfLabel) =>
      `Writes to ${label} are stopped so that its data cannot diverge: fewer than two of its three nodes reach each other. Writes resume automatically as soon as two nodes do.`,
    ORDERS,
  ),
  continuedAloneTitle: text(() => "Database continues with one node"),
  /** `losses`: archived transactions that are left out; `at` is a UTC time before which they can be restored. */
  continuedAlone: text(
    ({ label, ordinal, losses }: ContinuedAlone) => {
      const inBackups = losses.map(({ count, at }) => `${count} before ${at} UTC`).join(", ");
      return [
        `The operator continued ${label} with node ${ordinal} alone, because the hosts of the other nodes are lost. Transactions that only the other nodes had are lost.`,
        ...(losses.length === 0
          ? []
          : [`Of those, the backups have: ${inBackups}. To see them, restore or fork ${label} to a time before that.`]),
        "The other nodes are replaced automatically.",
      ].join(" ");
    },
    { ...ORDERS, ordinal: 2, losses: [{ count: 4, at: "2026-01-01T00:00:00" }] },
  ),
  healthyAgain: text(() => "All nodes of the database are healthy again."),

  adviceNodeLost: text(({ ordinal, host }: OfNode) => `node ${ordinal} (${host}) is lost with its host`, NODE),
  adviceNodeBroken: text(
    ({ ordinal, host, message }: OfBroken) =>
      `node ${ordinal} (${host}) has lost its data or has errant transactions${message === null ? "" : `: ${message}`}`,
    BROKEN,
  ),
  adviceNodeOutOfGroup: text(({ ordinal, host }: OfNode) => `node ${ordinal} (${host}) is in no group`, NODE),
  adviceNodeIsolated: text(({ ordinal, host }: OfNode) => `node ${ordinal} (${host}) reaches no other node`, NODE),
  adviceNodeSilent: text(({ ordinal, host }: OfNode) => `node ${ordinal} (${host}) is on an unreachable host`, NODE),
  adviceNodeRecovering: text(({ ordinal, host }: OfNode) => `node ${ordinal} (${host}) is recovering`, NODE),

  adviceReplacing: text(
    ({ where, ordinal }: Where & { ordinal: number }) => `${where}. The control plane is replacing node ${ordinal}.`,
    { ...WHERE, ordinal: 2 },
  ),
  adviceReplacementsLimited: text(
    ({ region, open }: { region: string; open: number }) =>
      `Waits for its replacement: ${open} nodes of ${region} are being replaced, which is the limit (MOORAGE_REPLACEMENTS_PER_REGION).`,
    { region: "eu-central", open: 20 },
  ),
  adviceHostsSilent: text(
    ({ region, silent, active }: { region: string; silent: number; active: number }) =>
      `No node of ${region} is replaced: ${silent} of its ${active} hosts are silent at once, so the network is probably at fault. Restore the connection to the hosts. Declare those that are gone for good dead: moorage admin host dead <host>`,
    { region: "eu-central", silent: 4, active: 10 },
  ),
  adviceBootstrapping: text(
    ({ where }: Where) => `${where}. The control plane is bootstrapping the group again with the most advanced node.`,
    { where: "node 0 (host-1) is in no group; node 1 (host-2) is in no group; node 2 (host-3) is in no group" },
  ),
  advicePromoting: text(
    ({ where, ordinal }: Where & { ordinal: number }) => `${where}. The control plane is promoting node ${ordinal}.`,
    { ...WHERE, ordinal: 0 },
  ),
  adviceRestore: text(
    ({ where }: Where) =>
      `${where}. The archive has transactions that no reachable node has, so no node is promoted. Bring the other nodes back, or ask the tenant to restore the database. To continue without these transactions: moorage admin db bootstrap <id> --accept-loss`,
    WHERE,
  ),
  adviceWait: text(({ where }: Where) => `${where}. Nothing to do yet.`, WHERE),
  advicePrimaryUnreachable: text(
    ({ where, host }: Where & { host: string }) =>
      `${where}. The primary is on ${host}, and may still accept writes. Bring ${host} back. If ${host} is gone for good, declare it dead: moorage admin host dead ${host}. Another node is then promoted, and transactions that only the old primary has are lost. The tenant can decide this too: moorage db promote <label>`,
    { ...WHERE, host: "host-3" },
  ),
  /** `notDead`: those of the lost hosts that nobody has declared dead yet. */
  adviceHostsLost: text(
    ({ where, lost, notDead }: Where & { lost: string[]; notDead: string[] }) =>
      `${where}. Bring ${lost.length === 0 ? "the other nodes" : lost.join(" and ")} back, or accept that transactions which only these nodes have are lost: ${notDead.map((host) => `moorage admin host dead ${host}; `).join("")}moorage admin db bootstrap <id> --accept-loss`,
    { ...WHERE, lost: ["host-3"], notDead: ["host-3"] },
  ),

  failoverReceipt: text(
    (change: Receipt) => `Failover from node ${change.from} to node ${change.to}. ${receipt(change)}`,
    RECEIPT,
  ),
  switchoverReceipt: text(
    (change: Receipt) => `Planned switchover from node ${change.from} to node ${change.to}. ${receipt(change)}`,
    SWITCHOVER,
  ),
  lossUnknown: text(({ why }: { why: string }) => `unknown, because ${why}`, {
    why: "the old primary did not return within 10 minutes",
  }),
  lossUnknownRestored: text(() => "the database was restored before the old primary returned"),
  lossUnknownReplaced: text(() => "another node has replaced the old primary"),
  lossUnknownHostGone: text(() => "the host of the old primary is gone"),
  lossUnknownUnreadable: text(() => "the data of the old primary cannot be read"),
  lossUnknownLate: text(() => "the old primary did not return within 10 minutes"),
});
