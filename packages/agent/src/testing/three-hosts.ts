import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Cluster, Member, NodeReport, NodeSpec } from "@moorage/contract/agent";
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise";
import { queryProxy } from "../proxy/runtime-socket.ts";
import { ClusterViews } from "../gatekeeper/gatekeeper-client.ts";
import { agentEnvironment, builtEngine, enrolToken } from "./agent-environment.ts";
import { makeAuthority, startFakeGateway } from "./fake-gateway.ts";
import { makeLan } from "./lan.ts";
import { testSpec, testTls } from "./node-spec.ts";
import { withPatientRoot } from "./patient-root.ts";
import { makeTestHost, sh, until } from "./test-host.ts";

const run = promisify(execFile);

/**
 * Three hosts with a network between them, each with its podman, agent, gatekeeper and gateway; one authority for all.
 *
 *   three = await makeThreeHosts("moor-t-x", { subnets: [60, 61, 62], lan: 63, port: 20_021 });
 *   three.setDesired()                sends all three members their specs, one generation higher
 *   three.setDesired((i) => ({ firewall: … }))  … with a change, which stays
 *   three.cluster((i) => ({ bootstrap })) … with a change of `cluster`, which stays
 *   three.hosts[i]                    its TestHost, `gateway`, `member`, `node`; startAgent() and startGatekeeper()
 *   three.latest(i), three.isReached(i)   its last report, and whether it is `running` at the last generation
 *   three.sql(i, "SELECT …")          as root, through its member's socket;  three.views(i)  of its gatekeeper
 *   three.logIn(i, port?)             a client from outside, through the proxy of host i: one attempt
 *   three.session(i, port?)           … as soon as the proxy accepts one
 *   three.cut(i) / three.heal(i)      nothing passes between host i and the other two; its gateway and clients stay
 *   three.killServer(i)               kill -9 of its mysqld
 *
 * The subnets are the third byte of 198.18.x.0/24. `close` removes everything.
 */
export async function makeThreeHosts(
  name: string,
  { subnets, lan: lanSubnet, port }: { subnets: [number, number, number]; lan: number; port: number },
) {
  const [authority, cluster] = [await makeAuthority(), await makeAuthority("database-1")];
  const made = await Promise.all(subnets.map((subnet, index) => makeTestHost(`${name}${index}`, `198.18.${subnet}`)));
  const lan = makeLan(
    `${name}-lan`,
    `198.18.${lanSubnet}`,
    made.map(({ namespace }) => namespace),
  );
  const members: Member[] = made.map((_, index) => ({
    node: randomUUID(),
    ordinal: index,
    host: `host-${index + 1}`,
    address: lan.address(index),
  }));
  const hosts = await Promise.all(made.map((host, index) => equip(host, index)));

  async function equip(host: (typeof made)[number], index: number) {
    const member = members[index] as Member;
    const gateway = await startFakeGateway(host.outside, 14_446, enrolToken, { host: index + 1, authority, cluster });
    const environment = agentEnvironment(host, gateway);
    host.known(member.node);
    const startAgent = (more: Record<string, string> = {}) => host.startAgent({ ...environment, ...more });
    const startGatekeeper = () => host.startGatekeeper(environment);
    startAgent();
    startGatekeeper();
    return { ...host, gateway, environment, startAgent, startGatekeeper, member, node: member.node };
  }

  let generation = 0;
  const group = randomUUID();
  const specs = hosts.map(({ node, address }, index) =>
    testSpec({
      node,
      ordinal: index,
      server_id: index + 1,
      engine: builtEngine,
      database: { ...testSpec().database, cluster_size: 3, replication_type: "semi_synch" },
      resources: { memory_mb: 1024, vcpus: 1, disk_mb: 2048 },
      network: { address: address(1), port },
      tls: testTls,
      cluster: { replication: "semi_synch", group, members, members_version: 1 },
    }),
  );
  const at = (index: number) => hosts[index] as (typeof hosts)[number];
  const socketOf = (index: number): string => join(at(index).state, "nodes", at(index).node, "run", "mysqld.sock");
  const proxyFolderOf = (index: number): string => join(at(index).state, "proxies", at(index).node.slice(0, 8));

  function setDesired(change: (index: number) => Partial<NodeSpec> = () => ({})): void {
    generation += 1;
    hosts.forEach(({ gateway }, index) => {
      specs[index] = { ...(specs[index] as NodeSpec), ...change(index), generation };
      gateway.setDesired(specs[index]);
    });
  }
  const latest = (index: number): NodeReport | undefined => at(index).gateway.latest(at(index).node);
  const logIn = (index: number, toPort = port, from = at(index).outside): Promise<Connection> =>
    createConnection({
      stream: () => connect({ host: at(index).inside, port: toPort, localAddress: from }),
      user: "dbadmin",
      password: at(index).gateway.secrets.password,
      ssl: { rejectUnauthorized: false },
      connectTimeout: 2000,
    });

  return {
    /** The authority of the members' certificates. */
    authority: cluster,
    hosts,
    members,
    lan,
    port,
    setDesired,
    cluster: (change: (index: number) => Partial<Cluster>) =>
      setDesired((index) => ({ cluster: { ...((specs[index] as NodeSpec).cluster as Cluster), ...change(index) } })),
    spec: (index: number) => specs[index] as NodeSpec,
    latest,
    isReached: (index: number): boolean =>
      latest(index)?.state === "running" && latest(index)?.generation === generation,
    sql: <T extends object>(index: number, sql: string): Promise<T[]> =>
      withPatientRoot(
        socketOf(index),
        async (connection) => (await connection.query<(T & RowDataPacket)[]>({ sql, timeout: 120_000 }))[0],
      ),
    /** As its gatekeeper serves them to its agent. */
    async views(index: number): Promise<ClusterViews | undefined> {
      const { namespace, node } = at(index);
      const curl = ["curl", "-s", "-m", "10", `http://127.0.0.1:19080/views/${node}`];
      const { stdout } = await run("nsenter", [`--net=/run/netns/${namespace}`, ...curl]).catch(() => ({ stdout: "" }));
      return ClusterViews.safeParse(stdout === "" ? undefined : JSON.parse(stdout)).data;
    },
    logIn,
    /** A proxy accepts nobody for a moment when its gatekeeper was kept from running for two seconds. */
    async session(index: number, toPort?: number, from?: string): Promise<Connection> {
      const opened: Connection[] = [];
      const attempt = async () => opened.push(await logIn(index, toPort, from));
      await until("a session", () => attempt().then(Boolean, () => false));
      return opened[0] as Connection;
    },
    /** Undefined while the proxy is being restarted: there is no file then. */
    proxyPid: async (index: number): Promise<number | undefined> =>
      Number(await readFile(join(proxyFolderOf(index), "haproxy.pid"), "utf8").catch(() => "")) || undefined,
    queryProxy: (index: number, command: string) => queryProxy(join(proxyFolderOf(index), "haproxy.sock"), command),
    cut: lan.cut,
    heal: lan.heal,
    /** 0: it does not run, or its container is being replaced. */
    serverPid: (index: number): number => at(index).serverPid(at(index).node),
    killServer(index: number): void {
      const pid = this.serverPid(index);
      // To kill(1), 0 means the whole process group of the sender.
      if (!(pid > 1)) throw new Error(`The server of member ${index} does not run.`);
      sh(`kill -9 ${pid}`);
    },
    until,
    async close(): Promise<void> {
      if (process.env["SHOW_AGENT_LOG"]) for (const host of hosts) process.stdout.write(host.log());
      // The agents first: a handshake in progress would keep a gateway from closing.
      await Promise.all(hosts.map((host) => host.close()));
      await Promise.all(hosts.map(({ gateway }) => gateway.close()));
      lan.close();
    },
  };
}
export type ThreeHosts = Awaited<ReturnType<typeof makeThreeHosts>>;
