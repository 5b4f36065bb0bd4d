import type { Cluster } from "@moorage/contract/agent";
import type { Invite } from "../../../packages/agent/src/gatekeeper/choose-invite.ts";
import { createKnownViews } from "../../../packages/agent/src/gatekeeper/known-views.ts";
import type { UsedIds } from "../../../packages/agent/src/specs/node-state.ts";
import { createBase, GROUP, members, nodeOf, ordinals } from "../world.ts";
import type { GroupRules } from "./rules.ts";

/** A write, by its own name: two groups would give one GTID to two writes. */
type Write = number;

/** One group of the engine: what its members have agreed on. */
export type Group = {
  id: number;
  view: number;
  listed: number[];
  primary: number;
  /** Everything that a majority has received, in order. */
  log: Write[];
  /** Since when the others miss a member. */
  missed: Map<number, number>;
};

/** One mysqld, as it sees itself. */
export type Server = {
  alive: boolean;
  starts: number;
  wasGroupStarted: boolean;
  state: "online" | "recovering" | "offline" | "error";
  /** The group that it is in; 0: none. */
  group: number;
  view: { view: number; listed: number[]; online: number[]; primary: number };
  /** `super_read_only`. */
  closed: boolean;
  isPatient: boolean;
  /** Executed, on its disk. */
  log: Write[];
  /** How many of its group's it has received. */
  received: number;
  /** Since when it has seen no majority. */
  aloneSince: number | undefined;
  onlineAt: number;
};

type Spec = { node: string; cluster: Cluster };

export type GroupHost = {
  ordinal: number;
  up: boolean;
  /** Changes when the agent ends, so that what it was doing ends too. */
  boot: string;
  agentUp: boolean;
  server: Server;
  /** On its disk, and the one with which the agent's last run began and ended. */
  spec: Spec;
  generation: number;
  run: { spec: Spec; generation: number };
  ran: { generation: number; takesPart: boolean };
  used: UsedIds;
  keeper: { alive: boolean; since: number; known: ReturnType<typeof createKnownViews> };
  invite: Invite | undefined;
  proxy: { forwards: boolean[]; missedChecks: number };
  reachesUs: boolean;
};

export const specOf = (ordinal: number, orders: Partial<Cluster> = {}): Spec => ({
  node: nodeOf(ordinal),
  cluster: { replication: "semi_synch", group: GROUP, members, members_version: 1, ...orders },
});

export function createGroupWorld(seed: number, rules: GroupRules) {
  const first: Group = { id: 1, view: 1, listed: [...ordinals], primary: 0, log: [], missed: new Map() };
  return {
    ...createBase(seed, (now) => ordinals.map((ordinal) => newHost(ordinal, now))),
    rules,
    groups: [first],
    acknowledged: [] as Write[],
    writes: 0,
  };
}
export type GroupWorld = ReturnType<typeof createGroupWorld>;

function newHost(ordinal: number, now: () => number): GroupHost {
  const spec = specOf(ordinal);
  return {
    ordinal,
    up: true,
    boot: "boot",
    agentUp: true,
    server: {
      alive: true,
      starts: 0,
      wasGroupStarted: true,
      state: "online",
      group: 1,
      view: { view: 1, listed: [...ordinals], online: [...ordinals], primary: 0 },
      closed: ordinal !== 0,
      isPatient: false,
      log: [],
      received: 0,
      aloneSince: undefined,
      onlineAt: 0,
    },
    spec,
    generation: 1,
    run: { spec, generation: 1 },
    ran: { generation: 1, takesPart: true },
    used: {},
    keeper: { alive: true, since: -1000, known: createKnownViews(now) },
    invite: undefined,
    proxy: { forwards: [true, false, false], missedChecks: 0 },
    reachesUs: true,
  };
}
