import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { until } from "@moorage/testkit/until.ts";
import { services, stop } from "../../tools/stack/control.ts";
import { hostOf } from "../../tools/stack/hosts.ts";
import { mounts } from "../kit/host.ts";
import { reach, sql } from "../kit/sql.ts";
import { tenant } from "../kit/tenant.ts";
import { defineDrill } from "./drill.ts";
import { bring, everythingButHosts, labelled, makeActive, removeAll } from "./outages.ts";
import { trial } from "./trial.ts";

const command = promisify(execFile);

export const hostRestarted = defineDrill({
  name: "host-restarted",
  question:
    "Are the nodes of a host back with their data after it lost every process, mount and namespace, without a control plane?",
  hosts: { least: 3 },
  measures: "from the power cut to the last node with its row and a running control plane",
  short: {},
  long: {},
  extent: () => "1 trial",
  run: (run) =>
    trial(
      run,
      "control plane down, a host loses every process, mount and namespace: its nodes are back from its disk",
      async () => {
        const alice = tenant();
        const made = [];
        for (let n = 0; n < 6; n++) made.push(await makeActive(alice, labelled("reboot", n)));
        const reaches = await Promise.all(made.map(({ id }) => reach(alice, id)));
        const victim = reaches[0] as (typeof reaches)[0];
        const onIt = reaches.filter(({ host }) => host === victim.host);
        for (const at of onIt)
          await sql(
            at,
            "create database shop; create table shop.cakes (id int primary key); insert into shop.cakes values (7)",
          );

        const names = await everythingButHosts();
        await stop(names);
        const started = performance.now();
        try {
          await powerCycle(victim.host);
          for (const at of onIt)
            await until(
              `the node at ${at.address} answers`,
              120,
              async () => (await sql(at, "select id from shop.cakes")) === "7",
            );
        } finally {
          await bring(names);
        }
        const tookMs = performance.now() - started;
        await removeAll(
          alice,
          made.map(({ id }) => id),
        );
        return {
          note: `${onIt.length} nodes back with their data ${(tookMs / 1000).toFixed(1)} s after the cut`,
          figures: { times: [tookMs] },
        };
      },
    ),
});

/** The services of a host. Processes that they started outlive them. */
const servicesOf = async (host: number): Promise<string[]> =>
  (await services()).map(({ name }) => name).filter((name) => new RegExp(`^[a-z]+-${host}$`).test(name));

async function powerCycle(host: number): Promise<void> {
  await powerCut(host);
  await powerOn(host);
}

export const powerOn = async (host: number): Promise<void> => bring(await servicesOf(host));

/**
 * Simulates a power cut of a host: only its disk remains. Kills only processes in the host's namespaces. Returns the
 * time at which they were killed.
 */
export async function powerCut(host: number): Promise<number> {
  await stop(await servicesOf(host));
  const nodes = (await mounts(host)).map((mount) => `moor-n-${(mount.split("/").at(-2) ?? "").slice(0, 8)}`);
  const at = Date.now();
  for (const namespace of [hostOf(host).namespace, ...nodes]) {
    const { stdout } = await command("ip", ["netns", "pids", namespace]);
    for (const pid of stdout.split("\n").filter(Boolean)) kill(Number(pid));
  }
  for (const mount of await mounts(host))
    await until(`${mount} is unmounted`, 15, async () => (await command("umount", [mount]), true));
  for (const namespace of nodes) await command("ip", ["netns", "del", namespace]);
  return at;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended with its parent.
  }
}
