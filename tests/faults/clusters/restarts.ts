import { kill, services, start, stop, waitHealthy } from "../../../tools/stack/control.ts";
import { hold, clientA } from "../../kit/client.ts";
import { type Cluster, untilHealthy } from "../../kit/cluster.ts";
import { startReaders } from "../../kit/cluster-writers.ts";
import { tenant } from "../../kit/tenant.ts";
import { until } from "../../kit/until.ts";
import { type Run, trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";

/**
 * A proxy needs a second to notice a missing health check; for this long after a restart all sessions must still be
 * answered.
 */
const NOTICED_MS = 3000;

/** Killed, and stopped and started as in an upgrade, one host after the other. */
export async function restarts(run: Run): Promise<void> {
  for (const what of ["agent", "gatekeeper"])
    await trial(run, `every ${what} killed, and started anew: no session moves`, async () => {
      const alice = tenant();
      const cluster = await standingCluster(alice);
      const { read_only_port } = (await alice.view(cluster.id)).body;
      await using primary = startReaders(cluster);
      await using secondary = startReaders(cluster, read_only_port ?? 0);
      await using idle = hold(clientA(), cluster.door);
      const sessions = [primary, secondary];
      await until("every session is open", 20, async () => {
        return idle.lines.includes("open") && sessions.every(({ reads }) => new Set(reads().map(proxyOf)).size === 3);
      });
      const names = await servicesLike(what, cluster);
      for (const name of names) {
        kill(name);
        await answeredAfterwards(name);
        await stop([name]);
        await start([name]);
        await answeredAfterwards(name);
      }
      if (idle.lines.length > 1) throw new Error("an idle session has ended");
      const answered = sessions.reduce((sum, { reads }) => sum + reads().length, 0);
      await untilHealthy(alice, cluster.id, 60);
      return `${names.length} restarted twice, 7 sessions, ${answered} answers, none moved`;

      async function answeredAfterwards(name: string): Promise<void> {
        const restarted = Date.now();
        await waitHealthy(name);
        for (const { reads } of sessions)
          await until("every gate answers afterwards", 30, async () => {
            const late = reads().filter(({ at }) => at > restarted + NOTICED_MS);
            return new Set(late.map(proxyOf)).size === 3;
          });
        const moved = sessions.flatMap(({ reads }) => movedOf(reads()));
        if (moved.length > 0) throw new Error(`after a restart of ${name}: ${moved.join("; ")}`);
      }
    });
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

async function servicesLike(what: string, { members }: Cluster): Promise<string[]> {
  const names = members.map(({ host }) => `${what}-${host}`);
  const known = new Set((await services()).map(({ name }) => name));
  const missing = names.filter((name) => !known.has(name));
  if (missing.length > 0) throw new Error(`the stack has no ${missing.join(", ")}`);
  return names;
}
