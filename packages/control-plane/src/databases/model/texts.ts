import { defineTexts, text } from "@moorage/contract/texts";

type Why = { why: string };

/** "a, b or c" */
const alternatives = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

/** "node 0 and node 2" */
const nodesOf = (ordinals: readonly number[]): string => ordinals.map((ordinal) => `node ${ordinal}`).join(" and ");

const NOTHING_OFFERED = "none is offered yet";
const STATE_OF_HOSTS = "Type, power state and allow list of the database are those on its hosts.";
const NEW_PASSWORD = "The database has a new password: read its credentials again.";
const RESTORED = "The control plane was restored from a backup.";

export const texts = defineTexts("database", {
  // Refusals

  notForThisAccount: text(
    () =>
      "This account cannot create a database: Managed Databases are open only to accounts that have an active database, and this account has none. Ask the operator for the capability Managed Databases.",
  ),
  /** Completes "<field> must be a valid value: …". */
  notOffered: text(({ valid }: { valid: readonly string[] }) => valid.join(", ") || NOTHING_OFFERED, {
    valid: ["eu-central", "us-east"] as readonly string[],
  }),
  /** Completes "type must be a valid value: …". */
  typeTooSmallForThreeNodes: text(
    (type: { valid: readonly string[]; type: string; memoryMb: number; leastMemoryMb: number }) =>
      `${type.valid.join(", ") || NOTHING_OFFERED} (each of three nodes needs at least ${type.leastMemoryMb} MB of memory, and ${type.type} has ${type.memoryMb} MB)`,
    { valid: ["m2-medium"], type: "m1-small", memoryMb: 1024, leastMemoryMb: 2048 },
  ),
  /** Completes "type must be a valid value: …". */
  typeNotLarger: text(
    ({ current, larger }: { current: string; larger: readonly string[] }) =>
      larger.length === 0 ? `none has more disk than ${current}` : `${larger.join(", ")} (more disk than ${current})`,
    { current: "m1-small", larger: ["m2-medium"] },
  ),
  typeChangedWithAllowList: text(
    () => "type and allow_list cannot be changed in one request. Send one request for each.",
  ),
  wrongStatus: text(
    ({ action, status, allowed }: { action: string; status: string; allowed: readonly string[] }) =>
      `Cannot ${action} a database that is ${status}; it must be ${alternatives(allowed)}.`,
    { action: "resize", status: "suspended", allowed: ["active"] as readonly string[] },
  ),
  fieldFixed: text(
    ({ field, equal }: { field: string; equal: readonly unknown[] }) =>
      `${field} cannot be changed: it stays ${equal.join(" or ")}. Send this value or leave the field out.`,
    { field: "region", equal: ["eu-central"] as readonly unknown[] },
  ),
  engineSettingFixed: text(
    ({ field }: { field: string }) =>
      `${field} cannot be set: engine settings cannot be changed on this installation yet. Leave the field out.`,
    { field: "engine_config.mysql.sql_mode" },
  ),
  labelTaken: text(
    ({ label }: { label: string }) => `Label must be unique among your databases: "${label}" is taken.`,
    { label: "orders" },
  ),
  /** Completes "replication_type must be a valid value: …". */
  oneNodeIsNotReplicated: text(() => "none, for a database of one node"),
  /** Completes "replication_type must be a valid value: …". */
  threeNodesAreReplicated: text(() => "semi_synch or asynch, for a database of three nodes"),
  /** Completes "updates.week_of_month must be a valid value: …". */
  weekOfMonthMissing: text(() => "1 to 4, for a monthly window"),
  metricsUnavailable: text(
    () => "Metrics are not available at the moment. The database is not affected. Retry in a moment.",
  ),
  /** Completes "from must be a valid value: …". */
  metricRangeEmpty: text(() => "a time before `to`"),
  /** Completes "step must be a valid value: …". */
  metricStepTooSmall: text(({ seconds }: { seconds: number }) => `at least ${seconds} seconds for this range`, {
    seconds: 60,
  }),

  // Ends of operations

  /** A message that a host sent, as the tenant may read it. */
  hostReported: text(({ message }: { message: string }) => message, { message: "The volume could not be extended." }),
  /** The reason in another text. */
  hostLate: text(() => "a host did not confirm the change in time."),
  noCapacityInRegion: text(
    () =>
      "No host of this region has capacity for this type. Delete the database and create it again with a smaller type or in another region, or ask the operator.",
  ),
  provisionLate: text(() => "The database was not ready in time. Delete the database and create it again."),
  forkLate: text(
    () => "The data of the source database were not ready in time. Delete this database and create it again.",
  ),
  dnsNotPublished: text(
    () => "The DNS records of the database could not be published in time. Delete the database and create it again.",
  ),
  deletionUnconfirmed: text(
    () => "A host has not confirmed the deletion yet. The deletion completes when the host is reachable again.",
  ),
  dnsNotWithdrawn: text(
    () =>
      "The DNS server has not removed the DNS records of the database yet. They are removed when the DNS server is reachable again.",
  ),
  allowListApplied: text(() => "Applied."),
  allowListAppliedAt: text(({ at }: { at: string }) => `Applied on every node at ${at} UTC.`, {
    at: "2026-03-01T12:00:00",
  }),
  allowListFailed: text(
    ({ why }: Why) => `The new allow list could not be applied, and the previous one stays in force: ${why}`,
    { why: "a host did not confirm the change in time." },
  ),
  allowListFailedInPart: text(
    ({ why, behind }: Why & { behind: readonly number[] }) =>
      `The new allow list was not applied on ${nodesOf(behind)}: ${why} Sources that it removes stay removed on every node, and sources that it adds are not admitted. A node whose host is unreachable applies this when the host is back. To admit the new sources, update the list again.`,
    { why: "a host did not confirm the change in time.", behind: [2] as readonly number[] },
  ),
  resizeFailed: text(({ why }: Why) => `The database could not be resized and keeps its previous type: ${why}`, {
    why: "a host did not confirm the change in time.",
  }),
  suspendFailed: text(({ why }: Why) => `The database could not be suspended and continues to run: ${why}`, {
    why: "a host did not confirm the change in time.",
  }),
  resumeFailed: text(({ why }: Why) => `The database could not be resumed and stays suspended: ${why}`, {
    why: "a host did not confirm the change in time.",
  }),
  patchFailed: text(({ why }: Why) => `The patch could not be applied, and the database runs without it: ${why}`, {
    why: "a host did not confirm the change in time.",
  }),
  passwordNotSet: text(
    ({ why }: Why) =>
      `The new password is not in force yet, and the hosts of the database keep trying to set it: ${why}`,
    { why: "a host did not confirm the change in time." },
  ),
  passwordNotConfirmed: text(
    ({ why, behind }: Why & { behind: readonly number[] }) =>
      `The new password was not confirmed by ${nodesOf(behind)}: ${why} The hosts of the database keep trying to set it, also one that is unreachable now.`,
    { why: "a host did not confirm the change in time.", behind: [2] as readonly number[] },
  ),
  changeIncomplete: text(
    ({ changed, nodes, why }: { changed: number; nodes: number } & Why) =>
      `The change is not complete: ${changed} of ${nodes} nodes have it. It continues in the next maintenance window. Reason: ${why}`,
    { changed: 1, nodes: 3, why: "a host did not confirm the change in time." },
  ),
  noPatchPending: text(() => "No patch is pending. The database is unchanged."),

  // Disk and verification

  diskSpaceFree: text(({ label }: { label: string }) => `The disk of ${label} has enough free space again.`, {
    label: "orders",
  }),
  diskNearlyFull: text(
    ({ label }: { label: string }) =>
      `The disk of ${label} is at least 90 % full. When it is full, the database refuses writes. Delete data or resize the database to a type with more disk.`,
    { label: "orders" },
  ),
  diskNearlyFullTitle: text(() => "Database is low on disk space"),
  diskFull: text(
    ({ label }: { label: string }) =>
      `Writes to ${label} are stopped: its disk is full. Reads work. To continue, resize the database to a type with more disk.`,
    { label: "orders" },
  ),
  diskFullTitle: text(() => "Database is read-only"),
  unresponsive: text(
    ({ label }: { label: string }) =>
      `The server of ${label} does not answer. If that lasts, it is killed and started again within a few minutes.`,
    { label: "orders" },
  ),
  unresponsiveTitle: text(() => "Database does not answer"),
  verificationFailed: text(
    ({ label, why }: { label: string } & Why) =>
      `The newest backup of ${label} could not be restored for its verification: ${why}`,
    { label: "orders", why: "the table shop.orders is corrupt." },
  ),
  verificationFailedTitle: text(() => "Backup failed its verification"),
  verificationFailedAdvice: text(
    () =>
      "The database itself is not affected. The operator sees this failure too. To have another backup, take a snapshot.",
  ),

  // Hosts of databases of one node

  hostAwayTitle: text(() => "Host of the database is unreachable"),
  hostUnreachable: text(
    ({ label }: { label: string }) =>
      `The host of ${label} is unreachable, and ${label} has one node. It may still serve clients that reach it. When the host is back, nothing is lost. If the operator declares the host dead, ${label} is restored on another host from its archive, under the same hostname and port.`,
    { label: "orders" },
  ),
  reachableAgain: text(({ label }: { label: string }) => `${label} is reachable again.`, { label: "orders" }),
  hostLostRestoring: text(
    ({ label }: { label: string }) =>
      `The host of ${label} is lost. The database is restored on another host from its archive, under the same hostname and port. The event database_node_replace names the point that was reached, and what is lost.`,
    { label: "orders" },
  ),
  hostLostWithoutBackup: text(
    ({ label }: { label: string }) =>
      `The host of ${label} is lost, and nothing of ${label} was archived yet: its data cannot be restored. It costs nothing from now on. Delete it, and create it again.`,
    { label: "orders" },
  ),
  /** The reason in another text. */
  hostLost: text(() => "the host of the database is lost."),
  adviceHostSilent: text(
    ({ host }: { host: string }) =>
      `Its only node is on ${host}, which is unreachable. If ${host} never returns, power it off, then: moorage admin host dead ${host}. The database is then restored on another host.`,
    { host: "host-3" },
  ),
  adviceHostDead: text(() => "The host of its only node is dead. The database is restored on another host."),
  adviceNotRestored: text(
    ({ why }: Why) => `The host of its only node is dead. Its restore on another host failed: ${why}`,
    {
      why: "No host of this region has capacity for the database. The operator can add a host, or make room on one.",
    },
  ),

  // Recovery of the control plane

  recovered: text(() => `${RESTORED} The database was recovered from its hosts. ${NEW_PASSWORD}`),
  recoveredState: text(() => `${RESTORED} ${STATE_OF_HOSTS}`),
  recoveredWithPassword: text(() => `${RESTORED} ${STATE_OF_HOSTS} ${NEW_PASSWORD}`),
  changeSuperseded: text(
    () => "The recovery of the control plane ended this change: the hosts have a newer state of the database.",
  ),
  endedByDeletion: text(() => "The recovery of the control plane ended this operation: the database was deleted."),
});
