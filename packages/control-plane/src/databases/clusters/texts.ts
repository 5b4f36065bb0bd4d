import { defineTexts, text } from "@moorage/contract/texts";

const CANNOT_PROMOTE = "Cannot promote a node of this database:";
const SINGLE_NODE = "it has one node. Only databases of three nodes (cluster_size 3) have replicas.";

/** `at`: a UTC time. */
type PromotionLoss = { primary: number; next: number; state: "seen" | "healthy"; at: string; seconds: number };
const LOSS: PromotionLoss = { primary: 0, next: 1, state: "seen", at: "2026-01-01T00:00:00", seconds: 40 };

/** Changes of a cluster that somebody requests, and why they are refused or fail. */
export const texts = defineTexts("cluster", {
  switchoverSingleNode: text(() => `Cannot switch over this database: ${SINGLE_NODE}`),
  switchoverNotPossible: text(({ why }: { why: string }) => `Cannot switch over this database: ${why}`, {
    why: "2 of its 3 nodes are healthy; all must be.",
  }),
  nodesUnhealthy: text(({ healthy }: { healthy: number }) => `${healthy} of its 3 nodes are healthy; all must be.`, {
    healthy: 2,
  }),
  noAgreedPrimary: text(() => "its nodes do not agree yet on the primary. Retry in a moment."),
  replicasBehind: text(
    ({ seconds, most }: { seconds: number; most: number }) =>
      `its replicas still have ${seconds} seconds of changes to apply; at most ${most} are allowed. Retry later.`,
    { seconds: 12, most: 5 },
  ),
  switchoverLate: text(
    () =>
      "The switchover did not complete in time. To see whether the primary changed: GET /v4/databases/mysql/instances/{id}/failovers",
  ),
  operationOvertaken: text(() => "another operation changed the database meanwhile."),

  promoteSingleNode: text(() => `${CANNOT_PROMOTE} ${SINGLE_NODE}`),
  promoteElected: text(
    () => `${CANNOT_PROMOTE} its nodes elect another primary automatically as soon as two of them reach each other.`,
  ),
  promoteNodesUnknown: text(
    () => `${CANNOT_PROMOTE} the control plane does not know its primary or all of its nodes yet. Retry in a moment.`,
  ),
  promotePrimaryServes: text(
    () =>
      `${CANNOT_PROMOTE} a replica follows the primary, so the primary serves clients. Use a switchover instead, which loses no data and requires that all three nodes are healthy.`,
  ),
  promotePrimaryReachable: text(
    () =>
      `${CANNOT_PROMOTE} its primary is reachable and recovering. When all three nodes are healthy again, use a switchover, which loses no data.`,
  ),
  promoteReplicasPending: text(
    () => `${CANNOT_PROMOTE} its replicas have not reported their transactions yet. Retry in a moment.`,
  ),
  promoteNoReplica: text(
    () => `${CANNOT_PROMOTE} none of its replicas is reachable. Retry when a replica is back, or ask the operator.`,
  ),
  promoteBackupsAhead: text(
    () =>
      `${CANNOT_PROMOTE} its backups have transactions that the remaining nodes lack. Restore the database to the newest point in time.`,
  ),
  promoteLossNotAccepted: text(
    ({ primary, next, state, at, seconds }: PromotionLoss) =>
      `${CANNOT_PROMOTE} node ${primary} is the primary, and was last ${state} at ${at} UTC, ${seconds} seconds ago. Transactions that node ${next} has not received are lost if node ${next} is promoted. To accept that, send "accept_loss": true; otherwise wait until node ${primary} is back.`,
    LOSS,
  ),

  databaseUnknown: text(({ id }: { id: number }) => `No database has the id ${id}. See: moorage admin db list`, {
    id: 7,
  }),
  bootstrapNoCluster: text(() => "Only a running database of three nodes has a group to bootstrap."),
  bootstrapRepairOpen: text(
    () =>
      "The control plane is already replacing a node of the database or bootstrapping its group. To see the state of the database: moorage admin db list",
  ),
  bootstrapWrongStatus: text(
    ({ status }: { status: string }) => `The database is ${status}. Wait until that operation has ended.`,
    { status: "updating" },
  ),
  bootstrapGroupExists: text(() => "Two nodes of the database reach each other, so the database has a group already."),
  bootstrapLossNotAccepted: text(
    ({ hosts }: { hosts: string[] }) =>
      `The transactions on unreachable hosts are unknown (${hosts.join(" and ")}). Bring these hosts back, or add --accept-loss. Transactions that exist only there are then lost.`,
    { hosts: ["host-2", "host-3"] },
  ),
  bootstrapHostsNotDead: text(
    ({ hosts }: { hosts: string[] }) =>
      `Unreachable hosts may still run the group of this database (${hosts.join(" and ")}), and a second group would diverge from it. If these hosts are gone for good, declare them dead first: ${hosts.map((host) => `moorage admin host dead ${host}`).join("; ")}`,
    { hosts: ["host-2", "host-3"] },
  ),
  bootstrapNoElection: text(
    () =>
      "This database replicates asynchronously and has no election. Add --accept-loss to promote the most up-to-date remaining node as sole primary.",
  ),
  bootstrapNoReport: text(
    () => "None of the nodes of the database has reported its transactions yet. Retry in a moment.",
  ),
  bootstrapBackupsAhead: text(
    ({ leftOut }: { leftOut: number }) =>
      `the backups have ${leftOut} transactions that none of the nodes has. Ask the operator.`,
    { leftOut: 3 },
  ),
  bootstrapNoNodeLeft: text(() => "the hosts of all nodes are dead. Ask the operator."),
  bootstrapNodesDiverged: text(() => "each of the nodes has transactions that another one lacks. Ask the operator."),
  bootstrapLate: text(() => "Replication between the nodes of the database could not be started in time."),

  replacementLate: text(() => "A lost node could not be replaced in time."),
  replacementWithoutDonor: text(() => "the other nodes have stopped."),

  rollNodeLost: text(() => "a host lost one of the nodes."),
  rollNodesUnhealthy: text(() => "not all of the nodes were healthy in time."),
  rollOutOfTime: text(() => "the change did not reach all of the nodes in time."),
  nodeLostByHost: text(() => "The host no longer has this node: neither its container nor its volume."),
});
