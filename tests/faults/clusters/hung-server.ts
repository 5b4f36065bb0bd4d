import { until } from "@moorage/testkit/until.ts";
import { texts } from "../../../packages/control-plane/src/databases/model/texts.ts";
import { frozen, serverOf } from "../../kit/cluster-faults.ts";
import { seconds } from "../../kit/cluster-gaps.ts";
import { nodesOf } from "../../kit/records.ts";
import { reach, sql } from "../../kit/sql.ts";
import { type Tenant, tenant } from "../../kit/tenant.ts";
import { defineDrill, leftOut } from "../drill.ts";
import { labelled, makeActive, removeAll } from "../outages.ts";
import { type Measured, trial } from "../trial.ts";
import { losePrimary } from "./asynch-control.ts";
import { removeStandingCluster } from "./standing-cluster.ts";

/** A server is killed after three minutes without an answer. */
const MOST_MS = 5 * 60_000;

/** A hung server still has its connections and its place, so that nothing but its silence shows that it is lost. */
export const hungServer = defineDrill({
  name: "hung-server",
  question:
    "Does a database whose server hangs serve again within five minutes without a person, and is its tenant told?",
  hosts: { least: 3 },
  measures: "from the fault to the next accepted write",
  goal: "at most 5 min",
  short: leftOut(
    "an integration test of the agent has a frozen server, and `primary-lost` a frozen primary of a group",
  ),
  long: {},
  extent: () => "one node, and an asynchronous primary",
  async run(run) {
    await trial(run, "server of one node hung: killed, started again, tenant told", hangOneNode);
    await trial(run, "asynchronous primary hung: another is primary, every loss reported", async () => {
      const measured = await losePrimary({ full: false, fault: frozen });
      requireSoon(measured.figures.times?.[0] ?? Number.POSITIVE_INFINITY);
      return measured;
    });
    await removeStandingCluster("asynch");
  },
});

async function hangOneNode(): Promise<Measured> {
  const alice = tenant();
  const { id } = await makeActive(alice, labelled("hung", 1));
  const at = await reach(alice, id);
  await sql(
    at,
    "create database shop; create table shop.cakes (id int primary key); insert into shop.cakes values (7)",
  );
  const victim = { host: at.host, node: await onlyNodeOf(id) };
  const pid = await serverOf(victim);
  const struckAt = Date.now();
  process.kill(pid, "SIGSTOP");
  await until("the tenant is told", 240, () => isToldUnresponsive(alice, id));
  const toldMs = Date.now() - struckAt;
  await until("it takes writes again", 240, async () => (await sql(at, "insert into shop.cakes values (8)"), true));
  const tookMs = Date.now() - struckAt;
  if ((await serverOf(victim)) === pid) throw new Error("the server that hung was not killed");
  const rows = await sql(at, "select group_concat(id order by id) from shop.cakes");
  if (rows !== "7,8") throw new Error(`it has the rows ${rows}`);
  await until("the tenant is told no longer", 60, async () => !(await isToldUnresponsive(alice, id)));
  requireSoon(tookMs);
  await removeAll(alice, [id]);
  return {
    note: `tenant told after ${seconds(toldMs)}, writes again after ${seconds(tookMs)}`,
    figures: { times: [tookMs] },
  };
}

async function onlyNodeOf(id: number): Promise<string> {
  const [only, ...others] = await nodesOf(id);
  if (only === undefined || others.length > 0) throw new Error(`database ${id} has ${others.length + 1} nodes`);
  return only.id;
}

const isToldUnresponsive = async (alice: Tenant, id: number): Promise<boolean> =>
  (await alice.notifications()).some(
    ({ entity, label }) => entity?.id === id && label === texts.unresponsiveTitle().text,
  );

function requireSoon(ms: number): void {
  if (ms > MOST_MS) throw new Error(`it took ${seconds(ms)}`);
}
