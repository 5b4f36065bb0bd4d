import type { GroupReport, NodeSpec, PrimaryChange } from "@moorage/contract/agent";
import { activeCluster } from "./active-database.ts";
import type { World } from "./world.ts";

type Host = Awaited<ReturnType<World["host"]>>;
export type MemberReport = Partial<GroupReport> & { node?: "failed" };

/** An active cluster on three of the hosts. The test writes the members' reports and moves the time. */
export async function watchedCluster(
  world: World,
  { hosts: count = 4, change = {} }: { hosts?: number; change?: object } = {},
) {
  const [alice, hosts] = [await world.customer(), [] as Host[]];
  for (let n = 0; n < count; n++) hosts.push(await world.host());
  const database = await activeCluster(world, alice, hosts, change);
  const silent = new Set<number>();
  const nodes = async () =>
    (await world.nodes())
      .filter(({ tombstoned, database_id }) => !tombstoned && database_id === database.id)
      .sort((a, b) => a.ordinal - b.ordinal);
  const hostOf = async (ordinal: number): Promise<Host> => {
    const node = (await nodes()).find((each) => each.ordinal === ordinal);
    return hosts.find(({ id }) => id === node?.host_id) as Host;
  };
  const cluster = {
    alice,
    hosts,
    database,
    nodes,
    hostOf,
    /** The report of one node by its host. */
    async reportMember(ordinal: number, { node: state, ...group }: MemberReport): Promise<void> {
      const spec = (await nodes())[ordinal]?.desired_spec as NodeSpec;
      const report: GroupReport = {
        state: "online",
        online: 3,
        shared: true,
        ...(await currentPrimary()),
        ...group,
      };
      const running = report.state === "online" ? "running" : "working";
      await (await hostOf(ordinal)).report(spec, state ?? running, state === undefined ? { group: report } : {});
    },
    async reportAll(...reports: readonly MemberReport[]): Promise<void> {
      for (const [ordinal, each] of reports.entries()) await cluster.reportMember(ordinal, each);
    },
    /** From now on its host is unreachable. */
    async silence(ordinal: number): Promise<void> {
      silent.add((await hostOf(ordinal)).id);
    },
    silenceHost: (id: number): void => void silent.add(id),
    unsilence: (): void => silent.clear(),
    /** Time passes while hosts poll, and then the cluster is checked. */
    async after(seconds: number): Promise<void> {
      world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
      for (const host of hosts) if (!silent.has(host.id)) await host.poll();
      await world.run("clusterHealth");
    },
    status: async () => (await alice.get<{ status: string }>(database.url)).body.status,
    events: async (action: string) => (await world.events()).filter((event) => event.action === action),
    checkAt: async () => (await row()).check_at,
    /** A change of primary from one node to another, as their hosts report it. */
    async change(from: number | undefined, to: number, by: number, more: Partial<PrimaryChange> = {}) {
      const [all, host] = [await nodes(), await hostOf(by)];
      const reported: PrimaryChange = {
        node: all[by]?.id as string,
        group: all[0]?.desired_spec?.cluster?.group as string,
        view: "v:1",
        ...(from === undefined ? {} : { from: all[from]?.id }),
        to: all[to]?.id as string,
        at: world.time.now.toISOString(),
        phases: { missed: 900, elected: 6000 + by, led: 6200 + by },
        gtid_before: "a:1-9",
        gtid_after: "a:1-9",
        ...more,
      };
      await host.reportChange(reported);
      return reported;
    },
  };
  const row = () =>
    world.db.selectFrom("clusters").selectAll().where("database_id", "=", database.id).executeTakeFirstOrThrow();
  const currentPrimary = async () => ({ primary: (await nodes())[0]?.id as string });
  return cluster;
}
export type WatchedCluster = Awaited<ReturnType<typeof watchedCluster>>;
