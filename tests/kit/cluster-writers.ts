import { until } from "@moorage/testkit/until.ts";
import { type Member, type Cluster, rowsAt } from "./cluster.ts";
import { hostOf } from "../../tools/stack/hosts.ts";
import { runStatement, clientA, start } from "./client.ts";
import { env } from "./stack-env.ts";

const WRITERS = 8;
/** Enough to detect a gap of 20 ms, and little enough for a small machine. */
const PAUSE_MS = 10;
/** Probers have higher numbers than all writers. */
const FIRST_PROBER = 1000;

export type Write = { writer: number; n: number };
export type Accepted = Write & { at: number };

const SCHEMA = `create database if not exists drill;
  create table if not exists drill.writes (run bigint, writer int, n int, view_id varchar(100), seen json, primary key (run, writer, n))`;

/** The number of a run, which identifies its rows. */
export async function newRun({ door }: Cluster): Promise<number> {
  await runStatement(clientA(), door, SCHEMA);
  return Date.now();
}

/** Eight writers in the namespace of client A: four by hostname, four through one proxy after the other. */
export async function startWriters({ door, members }: Cluster, run: number, pauseMs = PAUSE_MS) {
  const proxies = members.map(({ address }) => address);
  const program = start(clientA(), "write-by-many", { ...door, proxies, run, writers: WRITERS, pauseMs });
  const lines = (sign: string): Accepted[] =>
    program.lines.flatMap((line) => {
      const [kind, writer, n, at] = line.split(" ");
      return kind === sign ? [{ writer: Number(writer), n: Number(n), at: Number(at) }] : [];
    });
  const own = {
    accepted: (): Accepted[] => lines("+"),
    times: (): number[] => lines("+").map(({ at }) => at),
    unsure: (): number => lines("-").length,
    /** Waits for a row that was acknowledged after this moment. */
    untilAcceptedAfter: (at: number, seconds: number): Promise<unknown> =>
      until(`a write is accepted after ${new Date(at).toISOString()}`, seconds, async () => (lastTime() ?? 0) > at),
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
  const lastTime = (): number | undefined => {
    const line = program.lines.findLast((each) => each.startsWith("+"));
    return line === undefined ? undefined : Number(line.split(" ")[3]);
  };
  await until("every writer writes", 30, async () => {
    if (new Set(own.accepted().map(({ writer }) => writer)).size === WRITERS) return true;
    throw new Error(program.lines.findLast((line) => !line.startsWith("+")) ?? "not all of them have begun");
  });
  return own;
}
export type Writers = Awaited<ReturnType<typeof startWriters>>;

export type Probe = {
  prober: number;
  n: number;
  began: number;
  refused?: true;
  ended?: number;
  view?: string;
  /** By prober: the last of its tries that this one found written. */
  seen?: Record<string, number>;
};
export type AcceptedProbe = Probe & { ended: number; view: string };

/** Writes to each member directly, from its own host, where no cut between hosts has an effect. */
export function startProbers({ door, members }: Cluster, run: number) {
  const probers = members.map((member) => keepProbing(member));
  const probes = (): Probe[] => probers.flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as Probe));
  return {
    probes,
    /** The primary accepted and the others refused: an unreachable member would look like one that refuses. */
    untilAllAnswer: () =>
      until("every member answers its prober", 30, async () => {
        const refused = new Set(probes().flatMap((probe) => (probe.refused === true ? [probe.prober] : [])));
        return refused.size === 2 && acceptedProbes(probes()).length > 0;
      }),
    async [Symbol.asyncDispose]() {
      await Promise.all(probers.map((each) => each.end()));
    },
  };

  /** Ends with its host, and continues when the host is back. */
  function keepProbing({ host, nodeAddress, peerPort, ordinal, replication }: Member) {
    const lines: string[] = [];
    let ended = false;
    let current: ReturnType<typeof start> | undefined;
    const going = (async () => {
      for (let first = 1; !ended; first += 1_000_000) {
        current = start({ namespace: hostOf(host).namespace }, "probe-member", {
          host: nodeAddress,
          port: peerPort,
          username: door.username,
          password: door.password,
          run,
          prober: FIRST_PROBER + ordinal,
          firstProber: FIRST_PROBER,
          first,
          replication,
        });
        await current.ended;
        lines.push(...current.lines);
        current = undefined;
        if (!ended) await new Promise((resolve) => setTimeout(resolve, 500));
      }
    })();
    return {
      get lines() {
        return [...lines, ...(current?.lines ?? [])];
      },
      async end() {
        ended = true;
        await current?.[Symbol.asyncDispose]();
        await going;
      },
    };
  }
}

export const acceptedProbes = (probes: readonly Probe[]): AcceptedProbe[] =>
  probes.filter((probe): probe is AcceptedProbe => probe.ended !== undefined && probe.view !== undefined);

/** `askedMs`: for how long the reading program had been able to run when it sent the read. */
export type Read = { proxy: string; at: number; askedMs: number; server: string; session: number };

/** Reads through every proxy, ten times a second each. A session without an answer for `patienceMs` is replaced. */
export function startReaders({ door, members }: Cluster, { proxyPort = door.port, patienceMs = 5000 } = {}) {
  const proxies = members.map(({ address }) => address);
  const program = start(clientA(), "read-proxies", { ...door, proxies, proxyPort, patienceMs });
  return {
    reads: (): Read[] => program.lines.map((line) => JSON.parse(line) as Read),
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}

/** Sessions that keep all processors of a server busy until then. */
export const startBurners = ({ door }: Cluster, proxyPort: number, sessions: number, endsAt: number) =>
  start({ namespace: env("MOORAGE_CLIENT_A") }, "burn", { ...door, proxyPort, sessions, until: endsAt });

export const writesAt = (member: Member, run: number): Promise<Write[]> =>
  rowsAt<Write>(member, "select writer, n from drill.writes where run = ?", [run]);

export function without(some: readonly Write[], others: readonly Write[]): Write[] {
  const found = new Set(others.map(({ writer, n }) => `${writer} ${n}`));
  return some.filter(({ writer, n }) => !found.has(`${writer} ${n}`));
}

/** The acknowledged writes that a member does not have. */
export const missingAt = async (member: Member, run: number, acknowledged: readonly Write[]): Promise<Write[]> =>
  without(acknowledged, await writesAt(member, run));
