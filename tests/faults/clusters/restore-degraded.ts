import { until } from "@moorage/testkit/until.ts";
import { runStatement, clientA } from "../../kit/client.ts";
import { type Cluster, makeCluster, type Member, othersThan, receiptsOf, untilHealthy } from "../../kit/cluster.ts";
import { unplugged } from "../../kit/cluster-faults.ts";
import { seconds } from "../../kit/cluster-gaps.ts";
import { hostNumbers } from "../../kit/host.ts";
import { query } from "../../kit/records.ts";
import { type Tenant, tenant } from "../../kit/tenant.ts";
import { powerCut } from "../host-restarted.ts";
import { labelled, removeAll } from "../outages.ts";
import { defineDrill, leftOut } from "../drill.ts";
import { trial } from "../trial.ts";
import { callDead } from "./call-dead.ts";
import { lessThanItsArchive } from "./less-than-its-archive.ts";
import { ALL_NOTES, insert, NOTES } from "./cluster-fixture.ts";

/** Seconds. The nodes of a host that is away for longer are replaced. */
const RESTORED_WITHIN = 200;

/** The last two are permanent: the stack has two hosts less after each. */
export const restoreDegraded = defineDrill({
  name: "restore-degraded",
  question: "Does a restore finish while hosts are unreachable or permanently dead?",
  hosts: { least: 3, complete: 7 },
  short: leftOut(),
  long: {},
  extent: () => "4 trials; the last two leave the stack with two hosts less each",
  async run(run) {
    await trial(run, "a restore while the host is away that would have made the data", withoutItsMaker);
    await trial(run, "a restore whose host goes away that was to take the data from the others", withoutItsLast);
    const byOne = "two hosts dead for good: the node that is left is restored, and the others are replaced";
    if (hostNumbers().length < 5) console.log(`left out, because it needs a stack of five hosts: ${byOne}`);
    else await trial(run, byOne, byTheOneThatIsLeft);
    const anotherPrimary =
      "an asynchronous primary dead for good, and nobody has all of the archive: another is restored and promoted";
    if (hostNumbers().length < 7) console.log(`left out, because it needs a stack of seven hosts: ${anotherPrimary}`);
    else await trial(run, anotherPrimary, byAnotherPrimary);
  },
});

/** The others create the data without it, and it clones them when it is back. */
async function withoutItsMaker(): Promise<string> {
  const alice = tenant();
  const cluster = await withABackup(alice);
  const [away, other] = cluster.members as [Member, Member];
  await unplugged.strike(away);
  return healthyWhenBack(alice, cluster, away, async () => {
    await alice.untilStatus(cluster.id, "degraded", 90);
    const restoredMs = await restored(alice, cluster);
    await requireFirst(cluster, [other]);
    return restoredMs;
  });
}

/** The others continue without it, and it clones the data when it is back. */
async function withoutItsLast(): Promise<string> {
  const alice = tenant();
  const cluster = await withABackup(alice);
  const [, other, away] = cluster.members as [Member, Member, Member];
  return healthyWhenBack(alice, cluster, away, async () => {
    const [restoredMs] = await Promise.all([restored(alice, cluster), disconnectsWhenRequested(cluster, away)]);
    await requireFirst(cluster, [other]);
    return restoredMs;
  });
}

async function disconnectsWhenRequested({ id }: Cluster, away: Member): Promise<void> {
  await until("the others are to clone the data", RESTORED_WITHIN, async () => {
    const requested = await query(
      `select phase from desired_phases join operations on operations.id = operation_id
       where entity_id = $1 and kind = 'restoreDatabase' and phase = 'recloned'`,
      [id],
    );
    return requested.length > 0;
  });
  await unplugged.strike(away);
}

async function healthyWhenBack(
  alice: Tenant,
  { id }: Cluster,
  away: Member,
  restoredWithout: () => Promise<number>,
): Promise<string> {
  let restoredMs: number;
  try {
    restoredMs = await restoredWithout();
  } finally {
    await unplugged.heal(away);
  }
  const backAt = Date.now();
  const healed = await untilHealthy(alice, id, 120);
  const tookMs = Date.now() - backAt;
  if (!healed.members.some(({ node }) => node === away.node)) throw new Error("it was replaced, and not re-cloned");
  await requireFirst(healed, healed.members);
  await removeAll(alice, [id]);
  return `restored by the two others in ${seconds(restoredMs)}; three healthy ${seconds(tookMs)} after it was back`;
}

async function byTheOneThatIsLeft(): Promise<string> {
  const alice = tenant();
  const cluster = await withABackup(alice);
  const gone = othersThan(cluster.members[2] as Member, cluster.members);
  for (const { host } of gone) await powerCut(host);
  await callDead(gone.map(({ host }) => host));
  const calledAt = Date.now();
  await alice.untilStatus(cluster.id, "degraded", 90);
  const restoredMs = await restored(alice, cluster);
  const healed = await until("it is three again, elsewhere", 300, () => untilHealthy(alice, cluster.id, 60));
  await requireFirst(healed, healed.members);
  await removeAll(alice, [cluster.id]);
  return `restored by the one that is left in ${seconds(restoredMs)}; three healthy ${seconds(Date.now() - calledAt)} after they were called dead`;
}

/** The database has no primary meanwhile: its tenant was advised to restore. */
async function byAnotherPrimary(): Promise<string> {
  const alice = tenant();
  const cluster = await withABackup(alice, { replication_type: "asynch" });
  const { gone } = await lessThanItsArchive(cluster);
  const calledAt = Date.now();
  await alice.untilStatus(cluster.id, "degraded", 90);
  if ((await receiptsOf(alice, cluster.id)).length > 0)
    throw new Error("another is primary, with less than the archive has");
  const restoredMs = await restored(alice, cluster);
  const healed = await until("it is three again, elsewhere", 300, () => untilHealthy(alice, cluster.id, 60));
  if (gone.some(({ node }) => node === healed.primary.node)) throw new Error("the dead node is the primary");
  await requireFirst(healed, healed.members);
  await runStatement(clientA(), healed.door, insert("after"));
  await removeAll(alice, [cluster.id]);
  return `restored in ${seconds(restoredMs)}; three healthy ${seconds(Date.now() - calledAt)} after they were called dead`;
}

/** A cluster with a backup, one row from before the backup and one from after it. */
async function withABackup(alice: Tenant, more: object = {}): Promise<Cluster> {
  const cluster = await makeCluster(alice, labelled("restored", 1), more);
  await runStatement(clientA(), cluster.door, `${NOTES}; ${insert("first")}`);
  await alice.actAndWait(cluster.id, "backups", "database_backup_create", { label: "drill" });
  await runStatement(clientA(), cluster.door, insert("second"));
  return cluster;
}

async function restored(alice: Tenant, { id }: Cluster): Promise<number> {
  const [backup] = await alice.backups(id);
  const requestedAt = Date.now();
  await alice.actAndWait(id, `backups/${backup?.id}/restore`, "database_backup_restore", undefined, RESTORED_WITHIN);
  return Date.now() - requestedAt;
}

/**
 * Reads through the proxies of these members, which may learn of the new group a moment after the database is reported
 * ready.
 */
async function requireFirst({ door }: Cluster, members: readonly Member[]): Promise<void> {
  for (const { address: host } of members) {
    const found = await until(`the proxy at ${host} serves it`, 5, () =>
      runStatement(clientA(), door, ALL_NOTES, { host, tls: ["--ssl-mode=REQUIRED"] }),
    );
    if (found !== "first") throw new Error(`the proxy at ${host} serves ${found}`);
  }
}
