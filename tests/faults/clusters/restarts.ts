import { until } from "@moorage/testkit/until.ts";
import { kill, services, start, stop, waitHealthy } from "../../../tools/stack/control.ts";
import { hostOf } from "../../../tools/stack/hosts.ts";
import { run as command } from "../../../tools/stack/run.ts";
import { hold, clientA } from "../../kit/client.ts";
import { type Cluster, type Member, untilHealthy } from "../../kit/cluster.ts";
import { startReaders } from "../../kit/cluster-writers.ts";
import { tenant } from "../../kit/tenant.ts";
import { defineDrill } from "../drill.ts";
import { trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";

/**
 * A proxy needs a second to notice a missing health check; for this long after a restart all sessions must still be
 * answered.
 */
const NOTICED_MS = 3000;
/** A proxy closes if its gatekeeper is away for longer; it checks once a second, so one of the 4 s is not certain. */
const RESTART_MS = 3000;
const PATIENCE_MS = 600_000;
/** Where a gatekeeper answers, on its host. */
const VIEWS = "http://127.0.0.1:19080/views";

/** Killed, and stopped and started as in an upgrade, one host after the other. */
export const restarts = defineDrill({
  name: "restarts",
  question: "Do all sessions survive when every agent and every gatekeeper is killed, and stopped and started?",
  hosts: { least: 3 },
  short: {},
  long: {},
  extent: () => "2 trials",
  async run(run) {
    for (const what of ["agent", "gatekeeper"] as const)
      await trial(run, `every ${what} killed, and restarted: no session moves`, async () => {
        const alice = tenant();
        const cluster = await standingCluster(alice);
        const { read_only_port } = (await alice.view(cluster.id)).body;
        await requireServices(what, cluster);
        let sessions = await openSessions(cluster, read_only_port ?? 0);
        try {
          for (const member of cluster.members)
            for (const restart of [killedAnew, stoppedAndStarted]) await restartUnnoticed(member, restart);
        } finally {
          await sessions[Symbol.asyncDispose]();
        }
        await untilHealthy(alice, cluster.id, 60);
        return `${cluster.members.length} restarted twice, 7 sessions, ${sessions.count()} answers, none moved`;

        /** A machine that is too busy for a restart within the limit repeats it: a longer one ends sessions by design. */
        async function restartUnnoticed(member: Member, restart: (name: string) => Promise<void>): Promise<void> {
          const name = `${what}-${member.host}`;
          const deadline = Date.now() + PATIENCE_MS;
          for (;;) {
            const endedAt = Date.now();
            await restart(name);
            const startedAt = Date.now();
            await waitHealthy(name);
            if (what === "gatekeeper") await untilGatekeeperAnswers(member);
            const absentMs = Date.now() - endedAt;
            await until("every proxy answers afterwards", 30, async () => sessions.areAllRead(startedAt + NOTICED_MS));
            const moved = sessions.moved();
            if (moved.length === 0) return;
            if (what === "agent" || absentMs < RESTART_MS || Date.now() > deadline)
              throw new Error(`after a restart of ${name}, ${absentMs} ms: ${moved.join("; ")}`);
            await sessions[Symbol.asyncDispose]();
            sessions = await openSessions(cluster, read_only_port ?? 0);
          }
        }
      });
  },
});

const killedAnew = async (name: string): Promise<void> => kill(name);
async function stoppedAndStarted(name: string): Promise<void> {
  await stop([name]);
  await start([name]);
}

const untilGatekeeperAnswers = ({ host, node }: Member): Promise<unknown> =>
  until(`the gatekeeper of host ${host} answers`, 30, async () => {
    const found = await command("ip", ["netns", "exec", hostOf(host).namespace, "curl", "-sf", `${VIEWS}/${node}`]);
    return (JSON.parse(found) as { primary?: string }).primary !== undefined;
  });

/** Sessions through every proxy with the primary and a secondary, and an idle one. */
async function openSessions(cluster: Cluster, readOnlyPort: number) {
  const primary = startReaders(cluster, { patienceMs: PATIENCE_MS });
  const secondary = startReaders(cluster, { proxyPort: readOnlyPort, patienceMs: PATIENCE_MS });
  const idle = hold(clientA(), cluster.door);
  const readers = [primary, secondary];
  const own = {
    count: (): number => readers.reduce((sum, { reads }) => sum + reads().length, 0),
    areAllRead: (since: number): boolean =>
      readers.every(
        ({ reads }) =>
          new Set(
            reads()
              .filter(({ at }) => at > since)
              .map(proxyOf),
          ).size === 3,
      ),
    moved: (): string[] => [
      ...readers.flatMap(({ reads }) => movedOf(reads())),
      ...(idle.lines.length > 1 ? ["an idle session has ended"] : []),
    ],
    async [Symbol.asyncDispose]() {
      for (const each of [primary, secondary, idle]) await each[Symbol.asyncDispose]();
    },
  };
  try {
    await until("every session is open", 20, async () => idle.lines.includes("open") && own.areAllRead(0));
  } catch (error) {
    await own[Symbol.asyncDispose]();
    throw error;
  }
  return own;
}

type Reads = ReturnType<ReturnType<typeof startReaders>["reads"]>;
const proxyOf = ({ proxy }: Reads[0]): string => proxy;

function movedOf(reads: Reads): string[] {
  const groups = Object.entries(Object.groupBy(reads, proxyOf));
  return groups.flatMap(([proxy, group = []]) => {
    const sessions = new Set(group.map(({ server, session }) => `${session} at ${server}`));
    return sessions.size === 1 ? [] : [`through ${proxy} the sessions ${[...sessions].join(", ")}`];
  });
}

async function requireServices(what: string, { members }: Cluster): Promise<void> {
  const known = new Set((await services()).map(({ name }) => name));
  const missing = members.map(({ host }) => `${what}-${host}`).filter((name) => !known.has(name));
  if (missing.length > 0) throw new Error(`the stack has no ${missing.join(", ")}`);
}
