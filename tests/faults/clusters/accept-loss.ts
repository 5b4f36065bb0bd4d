import { setTimeout as sleep } from "node:timers/promises";
import { until } from "@moorage/testkit/until.ts";
import { runStatement, doorOf, clientA } from "../../kit/client.ts";
import { makeCluster, untilHealthy } from "../../kit/cluster.ts";
import { seconds } from "../../kit/cluster-gaps.ts";
import { hostNumbers } from "../../kit/host.ts";
import { moorage } from "../../kit/moorage.ts";
import { type Tenant, tenant } from "../../kit/tenant.ts";
import { labelled, removeAll } from "../outages.ts";
import { defineDrill, leftOut } from "../drill.ts";
import { trial } from "../trial.ts";
import { lessThanItsArchive } from "./less-than-its-archive.ts";
import { ALL_NOTES, insert, NOTES } from "./cluster-fixture.ts";

/** Clocks may differ by this much: a time this close to a copy is not restored from it. */
const CLOCKS_MS = 4000;

/** Permanent: the stack has two hosts less afterwards. */
export const acceptLoss = defineDrill({
  name: "accept-loss",
  question: "Does a cluster continue with less than its archive has, and does no restore mix the rows of both?",
  hosts: { least: 5 },
  short: leftOut(),
  long: {},
  extent: () => "1 trial; it leaves the stack with two hosts less",
  async run(run) {
    const name =
      "two hosts dead, and the node that is left lacks some of the archive: it continues, and no restore mixes both";
    if (hostNumbers().length < 5) console.log(`left out, because it needs a stack of five hosts: ${name}`);
    else await trial(run, name, goOnWithLess);
  },
});

async function goOnWithLess(): Promise<string> {
  const alice = tenant();
  const cluster = await makeCluster(alice, labelled("less", 1));
  const { id } = cluster;
  await runStatement(clientA(), cluster.door, `${NOTES}; ${insert("first")}`);
  const { gone, between } = await lessThanItsArchive(cluster);
  const calledAt = Date.now();
  await until("it is begun without them", 120, () => moorage("db", "bootstrap", `${id}`, "--accept-loss"));
  const healed = await until("it is three again, elsewhere", 300, async () => {
    const healthy = await untilHealthy(alice, id, 60);
    return !healthy.members.some(({ host }) => gone.some((each) => each.host === host)) && healthy;
  });
  const tookMs = Date.now() - calledAt;
  await runStatement(clientA(), healed.door, insert("after"));
  await alice.actAndWait(id, "backups", "database_backup_create", { label: "drill" });
  await sleep(CLOCKS_MS);

  const eventLines = (await alice.events(id)).map(({ action, status, message }) => `${action} ${status}: ${message}`);
  if (!eventLines.some((event) => /^database_group_form.* without \d+ transactions that its backups have/.test(event)))
    throw new Error(`its tenant was notified: ${eventLines.join("; ")}`);
  await requireNotes(alice, healed.id, {}, "first,after");
  await requireNotes(alice, healed.id, { restore_time: between }, "first,lost");
  await removeAll(alice, [id]);
  return `three again ${seconds(tookMs)} after the order; a fork of now and one of then have each its own rows`;
}

async function requireNotes(alice: Tenant, source: number, forkOptions: object, expected: string): Promise<void> {
  const fork = await alice.createSurely(labelled("fork", 1), 60, {
    type: "m1-medium",
    fork: { source, ...forkOptions },
  });
  await alice.untilStatus(fork.id, "active", 240);
  const found = await runStatement(clientA(), await doorOf(alice, fork.id), ALL_NOTES);
  await removeAll(alice, [fork.id]);
  if (found !== expected) throw new Error(`a fork ${JSON.stringify(forkOptions)} has ${found}, not ${expected}`);
}
