import { until } from "@moorage/testkit/until.ts";
import { services, start, stop, waitHealthy } from "../../tools/stack/control.ts";
import { psql } from "../../tools/stack/postgres.ts";
import { dropTemporalDatabases, temporalSchema } from "../../tools/stack/temporal-schema.ts";
import { containers, hostNumbers } from "../kit/host.ts";
import { query } from "../kit/records.ts";
import { type Load, load, reach, sql } from "../kit/sql.ts";
import { type Tenant, tenant } from "../kit/tenant.ts";
import { moorage } from "../kit/moorage.ts";
import { defineDrill } from "./drill.ts";
import { trial } from "./trial.ts";

const CONTROL_PLANE = ["api", "auth", "worker", "fleet"];
/** Everything that is not data plane: databases do not depend on it. DNS is data plane, with a server of its own. */
export const everythingButHosts = async (): Promise<string[]> =>
  (await services())
    .filter(({ kind, name }) => (kind === "part" && name !== "dns") || kind === "control-plane")
    .map(({ name }) => name);

export const bring = async (names: readonly string[]): Promise<void> => {
  await start(names);
  for (const name of names) await waitHealthy(name);
};
export const labelled = (what: string, n: number): string => `${what}-${n}-${Date.now() % 1_000_000}`;

export async function makeActive(alice: Tenant, label: string) {
  const { id } = await alice.createSurely(label);
  return alice.untilStatus(id, "active", 120);
}

export async function removeAll(alice: Tenant, ids: readonly number[]): Promise<void> {
  for (const id of ids) await alice.deleteSurely(id);
  for (const id of ids) await alice.untilEvent(id, "database_delete", 120);
}

export const temporalStopped = defineDrill({
  name: "temporal-stopped",
  question: "Are creates accepted while Temporal is stopped, and do they finish afterwards?",
  hosts: { least: 3 },
  measures: "from Temporal's return to the last active database",
  short: { seconds: 10 },
  long: { seconds: 60 },
  extent: ({ seconds }) => `${seconds} s`,
  run: (run, { seconds }) =>
    trial(run, `Temporal stopped for ${seconds} s: creates are accepted, and finish after`, async () => {
      const alice = tenant();
      await stop(["temporal"]);
      const made: number[] = [];
      for (let n = 0; n < 3; n++) {
        const { status, body } = await alice.create(labelled("temporal-down", n));
        if (status !== 200) throw new Error(`create answered ${status} while Temporal was down`);
        made.push(body.id);
      }
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      await bring(["temporal"]);
      const back = performance.now();
      for (const id of made) await alice.untilStatus(id, "active", 180);
      const tookMs = performance.now() - back;
      await removeAll(alice, made);
      return {
        note: `3 created while it was down, all active ${(tookMs / 1000).toFixed(1)} s after it was back`,
        figures: { times: [tookMs] },
      };
    }),
});

export const temporalLost = defineDrill({
  name: "temporal-lost",
  question: "Do all open operations end after Temporal's databases were dropped and created anew?",
  hosts: { least: 3 },
  short: {},
  long: {},
  extent: () => "1 trial",
  run: (run) =>
    trial(run, "Temporal's databases dropped and made new with operations open: all of them end", async () => {
      const alice = tenant();
      const leaving = await makeActive(alice, labelled("temporal-lost", 0));
      // Agents are stopped, so that the operations stay open in the middle of their workflows.
      const agents = hostNumbers().map((n) => `agent-${n}`);
      await stop(agents);
      const made: number[] = [];
      for (let n = 1; n <= 3; n++) made.push((await alice.createSurely(labelled("temporal-lost", n))).id);
      await alice.deleteSurely(leaving.id);
      await until(
        "the workflows have started",
        30,
        async () =>
          (await query("select id from operations where settled_at is null and started_at is null")).length === 0,
      );
      const open = await query("select id from operations where settled_at is null");
      await stop(["temporal"]);
      await dropTemporalDatabases();
      await temporalSchema();
      await bring(["temporal", ...agents]);
      for (const id of made) await alice.untilStatus(id, "active", 180);
      await alice.untilEvent(leaving.id, "database_delete", 180);
      const again = await query("select id from operations where run > 0");
      await removeAll(alice, made);
      return `${open.length} operations were open, ${again.length} were restarted`;
    }),
});

/** Restores the control plane's database to the time of the copy; hosts remember what came after. */
export const setBack = defineDrill({
  name: "set-back",
  question:
    "Does every database survive when PostgreSQL is set back to an older copy, and does `moorage admin recover` reconcile them?",
  hosts: { least: 3 },
  short: {},
  long: {},
  extent: () => "1 trial",
  run: (run) =>
    trial(
      run,
      "Postgres set back to an older copy: no agent deletes anything, and `moorage admin recover` brings it together",
      async () => {
        const alice = tenant();
        const kept = await makeActive(alice, labelled("kept", 1));
        const removed = await makeActive(alice, labelled("removed", 1));
        const keptReach = await reach(alice, kept.id);
        await sql(
          keptReach,
          "create database shop; create table shop.cakes (id int primary key); insert into shop.cakes values (42)",
        );
        await swapDatabase("create database moorage_copy template moorage");

        const later = await makeActive(alice, labelled("later", 1));
        await removeAll(alice, [removed.id]);
        const before = await everyContainer();
        await swapDatabase("drop database moorage with (force)", "alter database moorage_copy rename to moorage");

        await until(
          "the set-back is noticed",
          60,
          async () =>
            (await query<{ set_back_at: Date | null }>("select set_back_at from installation"))[0]?.set_back_at,
        );
        const refusal = await alice.create(labelled("refused", 1));
        if (refusal.status !== 503)
          throw new Error(`a create answered ${refusal.status} on a control plane that was set back`);
        // Two more polls of every host: enough time to do harm.
        const noticed = new Date();
        await until(
          "every host has polled again, twice",
          60,
          async () =>
            (
              await query("select 1 from host_leases where seen_at > $1::timestamptz + interval '12 seconds'", [
                noticed,
              ])
            ).length === hostNumbers().length,
        );
        const after = await everyContainer();
        if (before !== after) throw new Error(`containers changed: ${before} became ${after}`);

        const output = await moorage("recover");
        if (!output.includes(later.label) || !output.includes(removed.label))
          throw new Error(`recover did not report both: ${output}`);
        await alice.untilStatus(kept.id, "active");
        await alice.untilStatus(later.id, "active");
        if ((await alice.view(removed.id)).status !== 404) throw new Error("the deleted database came back");
        const cakes = await sql(keptReach, "select id from shop.cakes");
        if (cakes !== "42") throw new Error(`the kept database lost its row: ${cakes}`);
        await until(
          "the adopted database takes its new password",
          60,
          async () => (await sql(await reach(alice, later.id), "select 1")) === "1",
        );
        const fresh = await makeActive(alice, labelled("fresh", 1));
        await removeAll(alice, [kept.id, later.id, fresh.id]);
        return `${before.split(",").length} containers untouched; 1 adopted, 1 deletion followed, 1 created after`;
      },
    ),
});

async function swapDatabase(...statements: string[]): Promise<void> {
  await stop(CONTROL_PLANE);
  // Refused while a connection of a stopped process is still being closed.
  for (const each of statements) await until(each, 60, async () => (await psql("postgres", each), true));
  await bring(CONTROL_PLANE);
}

const everyContainer = async (): Promise<string> =>
  (
    await Promise.all(
      hostNumbers().map(async (n) => (await containers(n)).map(({ node, running }) => `${n}:${node}:${running}`)),
    )
  )
    .flat()
    .sort()
    .join(",");

/** The rate is required of long runs only: a machine that also runs other tests may be too busy for it. */
const RATE = 100;
const RATE_SECONDS = 60;

export const controlPlaneDown = defineDrill({
  name: "control-plane-down",
  question: "Does a database serve statements while everything but the hosts and DNS is stopped?",
  hosts: { least: 3 },
  short: { seconds: 10 },
  long: { seconds: 60 },
  extent: ({ seconds }) => `${seconds} s`,
  run: (run, { seconds }) =>
    trial(
      run,
      `everything but the hosts stopped for ${seconds} s: at least ${RATE * seconds} statements on a node, 0 failed`,
      async () => {
        const alice = tenant();
        const database = await makeActive(alice, labelled("alone", 1));
        const at = await reach(alice, database.id);
        const names = await everythingButHosts();
        const { statements, failed, seconds: took } = await loadWhileStopped();
        const rate = Math.round(statements / took);
        if (failed > 0 || statements < RATE * seconds || (seconds >= RATE_SECONDS && rate < RATE))
          throw new Error(`${statements} statements, ${rate} each second, ${failed} failed`);
        await removeAll(alice, [database.id]);
        return `stopped ${names.join(", ")}: ${rate} statements/s, ${failed} failed`;

        async function loadWhileStopped(): Promise<Load> {
          await stop(names);
          try {
            return await load(at, seconds, RATE * seconds);
          } finally {
            await bring(names);
          }
        }
      },
    ),
});
