import { type Cluster, type Member, type PrimaryTerm, serverUuidOf } from "@moorage/contract/agent";
import { createRandom } from "@moorage/testkit/random.ts";
import { createKnownViews } from "../../packages/agent/src/gatekeeper/known-views.ts";
import type { Still } from "../../packages/agent/src/replication/following/compare-errant.ts";
import type { FetchProgress } from "../../packages/agent/src/replication/following/fetch-progress.ts";
import type { UsedIds } from "../../packages/agent/src/specs/node-state.ts";
import type { Rules } from "./rules.ts";
import { createSchedule } from "./schedule.ts";
import type { Transactions } from "./transactions.ts";

export const GROUP = "11111111-2222-4333-8444-555555555555";
const NODES = [
  "aaaaaaaa-0000-4000-8000-000000000000",
  "bbbbbbbb-0000-4000-8000-000000000001",
  "cccccccc-0000-4000-8000-000000000002",
];
export const members: Member[] = NODES.map((node, ordinal) => ({
  node,
  ordinal,
  host: `host-${ordinal}`,
  address: `10.0.0.${ordinal + 1}`,
}));
export const ordinals = [0, 1, 2] as const;
export const nodeOf = (ordinal: number): string => members[ordinal]?.node ?? "";
export const ordinalOf = (node: string | undefined): number => members.findIndex((member) => member.node === node);
export const othersOf = (ordinal: number): number[] => ordinals.filter((each) => each !== ordinal);

export type Spec = { node: string; cluster: Cluster & { primary: PrimaryTerm } };

/** One mysqld. */
export type Server = {
  alive: boolean;
  /** `super_read_only` is off. */
  open: boolean;
  /** `read_only` is on: it is open only to be cloned into. */
  forClone: boolean;
  executed: Transactions;
  received: Transactions;
  source: number | undefined;
  receiving: "on" | "connecting" | "off";
  /** When it began to connect, and when its connection broke without the server noticing yet. */
  connectingSince: number;
  brokenSince: number | undefined;
  /** The start of its source that it is connected to, and what the kernel of the source's host has left to send. */
  connectedTo: number;
  onTheWay: Transactions;
  /** When each replica was last connected to it. */
  counted: Map<number, number>;
  applying: boolean;
  /** How often it was started. */
  starts: number;
  uuid: string;
};

/** A host with its agent, gatekeeper, proxy and clients. What is not listed here is forgotten by a restart. */
export type Host = {
  ordinal: number;
  up: boolean;
  boot: string;
  server: Server;
  /** On its disk. */
  spec: Spec;
  generation: number;
  used: UsedIds;
  savedErrant: string | undefined;
  still: Still | undefined;
  fetch: FetchProgress | undefined;
  keeper: { alive: boolean; since: number; known: ReturnType<typeof createKnownViews> };
  /** The servers to which its proxy forwards writes, by ordinal. */
  proxy: { forwards: boolean[]; missedChecks: number };
  /** The control plane is reachable. */
  reachesUs: boolean;
  /** The hosts to which it sends transactions over a full link. */
  fullTo: Set<number>;
};

type Acknowledged = { uuid: string; number: number };

/** What runs of both kinds of clusters have. */
export function createBase<H extends { up: boolean }>(seed: number, newHosts: (now: () => number) => H[]) {
  const schedule = createSchedule();
  const random = createRandom(seed);
  const trace: string[] = [];
  const violations: string[] = [];
  /** How often what must happen in some run has happened. */
  const happened = new Map<string, number>();
  const links = ordinals.map(() => ordinals.map(() => true));
  const hosts = newHosts(schedule.now);
  const seconds = (): string => (schedule.now() / 1000).toFixed(2);
  const host = (ordinal: number): H => hosts[ordinal] as H;
  let boots = 0;
  return {
    ...schedule,
    seed,
    random,
    hosts,
    links,
    trace,
    violations,
    happened,
    host,
    between: (least: number, most: number): number => least + random.below(most - least),
    newBoot: (): string => `boot-${boots++}`,
    say: (text: string): void => void trace.push(`${seconds()} ${text}`),
    violate(text: string): void {
      trace.push(`${seconds()} VIOLATION ${text}`);
      violations.push(`${seconds()} s: ${text}`);
    },
    happens: (what: string): void => void happened.set(what, (happened.get(what) ?? 0) + 1),
    /** Packets pass in both directions. */
    reaches(from: number, to: number): boolean {
      if (!host(from).up || !host(to).up) return false;
      return from === to || links[from]?.[to] === true;
    },
    cut(one: number, other: number, isCut: boolean): void {
      for (const [from, to] of [
        [one, other],
        [other, one],
      ] as const) {
        const row = links[from];
        if (row !== undefined) row[to] = !isCut;
      }
    },
  };
}

/** Everything that one run of an asynchronous cluster has. */
export function createWorld(seed: number, rules: Rules) {
  const first: PrimaryTerm = { node: nodeOf(0), term: 1, reason: "fenced" };
  return {
    ...createBase(seed, (now) => ordinals.map((ordinal) => newHost(ordinal, first, rules, now))),
    rules,
    acknowledged: [] as Acknowledged[],
    /** Every term, as it began. */
    terms: new Map([[first.term, first]]),
    /** By term, in order: the primary that wrote in it, and the last number that it gave. */
    written: [] as { term: number; uuid: string; last: number }[],
    /** The newest term in which a write was acknowledged. */
    newestTerm: { term: 0, at: 0 },
  };
}
export type World = ReturnType<typeof createWorld>;

function newHost(ordinal: number, primary: PrimaryTerm, rules: Rules, now: () => number): Host {
  const node = nodeOf(ordinal);
  const isPrimary = primary.node === node;
  return {
    ordinal,
    up: true,
    boot: "boot",
    server: {
      alive: true,
      open: isPrimary,
      forClone: false,
      executed: new Map(),
      received: new Map(),
      source: isPrimary ? undefined : 0,
      receiving: isPrimary ? "off" : "on",
      connectingSince: 0,
      brokenSince: undefined,
      connectedTo: 0,
      onTheWay: new Map(),
      counted: new Map(),
      applying: !isPrimary,
      starts: 0,
      uuid: serverUuidOf(GROUP, rules.markOf(node, undefined)),
    },
    spec: { node, cluster: { replication: "asynch", group: GROUP, members, members_version: 1, primary } },
    generation: 1,
    used: isPrimary ? { opened: { term: 1, boot: "boot" } } : { followed: 1 },
    savedErrant: undefined,
    still: undefined,
    fetch: undefined,
    keeper: { alive: true, since: -1000, known: createKnownViews(now) },
    proxy: { forwards: [true, false, false], missedChecks: 0 },
    reachesUs: true,
    fullTo: new Set(),
  };
}
