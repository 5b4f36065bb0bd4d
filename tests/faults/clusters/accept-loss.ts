import { setTimeout as sleep } from "node:timers/promises";
import { toTimestamp } from "@moorage/contract";
import { ask, doorOf, placeA } from "../../kit/client.ts";
import { type Cluster, makeCluster, type Member, othersThan, untilHealthy } from "../../kit/cluster.ts";
import { bothWays, cut } from "../../kit/cluster-cuts.ts";
import { seconds } from "../../kit/cluster-gaps.ts";
import { hostNumbers } from "../../kit/host.ts";
import { moorage } from "../../kit/moorage.ts";
import { query } from "../../kit/records.ts";
import { type Tenant, tenant } from "../../kit/tenant.ts";
import { until } from "../../kit/until.ts";
import { labelled, powerCut, removeAll } from "../outages.ts";
import { type Run, trial } from "../trial.ts";
import { callDead } from "./call-dead.ts";
import { NOTES } from "./three-stage.ts";

const insert = (note: string): string => `insert into shop.notes (note) values ('${note}')`;
/** So far apart clocks may be: a time that near to a copy is not restored from it. */
const CLOCKS_MS = 4000;

/** For ever: the stack has two hosts less from then on. */
export async function acceptLoss(run: Run): Promise<void> {
  const name =
    "two hosts dead, and the node that is left lacks some of the archive: it goes on, and no restore mixes both";
  if (hostNumbers().length < 5) console.log(`left out, because it needs a stack of five hosts: ${name}`);
  else await trial(run, name, goOnWithLess);
}

async function goOnWithLess(): Promise<string> {
  const alice = tenant();
  const cluster = await makeCluster(alice, labelled("less", 1));
  const { id, door, primary, members } = cluster;
  await ask(placeA(), door, `${NOTES}; ${insert("first")}`);
  const left = await neitherPrimaryNorKeeper(cluster);
  const gone = othersThan(left, members);

  const between = await archivedWithout(left);
  await callDead(gone.map(({ host }) => host));
  const calledAt = Date.now();
  await until("it is begun without them", 120, () => moorage("db", "begin", `${id}`, "--accept-loss"));
  const healed = await until("it is three again, elsewhere", 300, async () => {
    const healthy = await untilHealthy(alice, id, 60);
    return !healthy.members.some(({ host }) => gone.some((each) => each.host === host)) && healthy;
  });
  const tookMs = Date.now() - calledAt;
  await ask(placeA(), healed.door, insert("after"));
  await alice.actAndWait(id, "backups", "database_backup_create", { label: "drill" });
  await sleep(CLOCKS_MS);

  const told = (await alice.events(id)).find(({ action }) => action === "database_group_form")?.message ?? "";
  if (!/without \d+ transactions that its backups have/.test(told)) throw new Error(`its tenant was told: ${told}`);
  await requireNotes(alice, healed.id, {}, "first,after");
  await requireNotes(alice, healed.id, { restore_time: between }, "first,lost");
  await removeAll(alice, [id]);
  return `three again ${seconds(tookMs)} after the word; a fork of now and one of then have each its own rows`;

  /** Returns a time between two writes that the archive has, and this member does not. */
  async function archivedWithout(lacking: Member): Promise<string> {
    const { heal } = await cut(
      gone.flatMap(({ host }) => bothWays(lacking.host, host)),
      hostNumbers(),
    );
    const atPrimary = { host: primary.address, tls: ["--ssl-mode=REQUIRED"] };
    const write = (note: string) =>
      until(`${note} is written`, 60, () => ask(placeA(), door, `${insert(note)}; select 1`, atPrimary));
    await write("lost");
    const wrote = Date.now();
    await sleep(2 * 1000); // times of restores are whole seconds
    await write("lost too");
    await until("both are in the archive", 180, async () => {
      const logs = await query(
        `select from binary_logs join databases using (timeline_id)
         where databases.id = $1 and closed_at >= $2`,
        [id, new Date(wrote + 1500)],
      );
      return logs.length > 0;
    });
    for (const { host } of gone) await powerCut(host);
    await heal();
    return toTimestamp(new Date(wrote + 1000));
  }
}

async function neitherPrimaryNorKeeper({ id, primary, members }: Cluster): Promise<Member> {
  const [keeper] = await query<{ node_id: string }>(
    "select node_id from keepers join databases using (timeline_id) where databases.id = $1",
    [id],
  );
  return members.find(({ node }) => node !== primary.node && node !== keeper?.node_id) as Member;
}

async function requireNotes(alice: Tenant, source: number, past: object, wanted: string): Promise<void> {
  const fork = await alice.createSurely(labelled("fork", 1), 60, { type: "m1-medium", fork: { source, ...past } });
  await alice.untilStatus(fork.id, "active", 240);
  const found = await ask(
    placeA(),
    await doorOf(alice, fork.id),
    "select group_concat(note order by id) from shop.notes",
  );
  await removeAll(alice, [fork.id]);
  if (found !== wanted) throw new Error(`a fork ${JSON.stringify(past)} has ${found}, not ${wanted}`);
}
