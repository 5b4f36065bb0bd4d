import type { GroupReport, MemberView } from "@moorage/contract/agent";
import { decideGroup } from "../../../packages/agent/src/replication/group/decide-group.ts";
import {
  type BootstrapMember,
  membersToCount,
  nextOfBootstrap,
} from "../../../packages/control-plane/src/databases/clusters/health/bootstrapping.ts";
import { GROUP, members, nodeOf, ordinals, othersOf } from "../world.ts";
import type { Model, Step } from "./search.ts";

/** The shipped decisions of a bootstrap, and what its activity requires of a report. */
export const shippedBootstrap = {
  decideGroup,
  nextOfBootstrap,
  /** The report is of the desired generation, and so is the observation of the group that it carries. */
  isFollowed: (row: Row, generation: number): boolean => row.ran >= generation && row.look.generation >= generation,
};
export type BootstrapRules = typeof shippedBootstrap;

/** An observation of the own group, made while the last run was of this generation. `used`: the permission used last; 0: none. */
type Look = { generation: number; isOut: boolean; used: number; data: number };
type Host = {
  /** On its disk. `permit`: the permission to bootstrap; 0: none. */
  spec: { generation: number; permit: number; staysOut: boolean };
  /** The generation of the last run, which the reconciler reports: it runs one spec of a node at a time. */
  ran: number;
  used: number;
  /** `recorded`: the permission is recorded as used. `starting`: the server starts the group. */
  act: "" | "recorded" | "starting";
  /** The server has not been restarted since the permission was recorded, and never started a group. */
  isUnstarted: boolean;
  /** The group that its server is in; 0: none. */
  group: number;
  /** Whether it has the write that the first group accepted. */
  data: number;
};
type Row = { ran: number; look: Look };
type State = {
  desired: { generation: number; permit: number; staysOut: boolean; node: number; withdrawn: number; given: number };
  hosts: Host[];
  /** The last reports that the control plane has stored. */
  rows: Row[];
  /** How many servers and agents may still be killed. */
  kills: number;
  /** The members of each group, reachable or not, until they are expelled. */
  groups: number[][];
};

/** Two permissions are enough to show whether one is given too early. */
const mostPermissions = 2;
const firstLook: Look = { generation: 1, isOut: true, used: 0, data: 0 };
const firstHost: Host = {
  spec: { generation: 1, permit: 0, staysOut: false },
  ran: 1,
  used: 0,
  act: "",
  isUnstarted: true,
  group: 0,
  data: 0,
};

/**
 * Three members in no group: specs arrive late, a link between any two hosts is cut at any time, and so many servers or
 * agents are killed. `lateReports`: the control plane decides by reports of any age; otherwise by what hosts report now.
 */
export function bootstrapModel(rules: BootstrapRules, { lateReports = false, kills = 2 } = {}): Model<State> {
  return {
    initial: {
      desired: { generation: 1, permit: 0, staysOut: false, node: 0, withdrawn: 0, given: 0 },
      hosts: ordinals.map(() => firstHost),
      rows: lateReports ? ordinals.map(() => ({ ran: 1, look: firstLook })) : [],
      kills,
      groups: [],
    },
    next: (state) => [...ordinals.flatMap((ordinal) => stepsOf(rules, state, ordinal)), ...control(rules, state)],
    fault,
  };
}

function fault({ hosts, groups }: State): string | undefined {
  const there = new Set(hosts.flatMap(({ group }) => (group === 0 ? [] : [group])));
  if (there.size > 1) return "two groups of one name";
  const newest = hosts.filter(({ group }) => group !== 0 && group === groups.length);
  const isWritten = hosts.some(({ data }) => data === 1);
  return isWritten && groups.length > 1 && newest.length > 0 && newest.every(({ data }) => data === 0)
    ? "a group without a write that an earlier one has accepted"
    : undefined;
}

const withHost = (state: State, ordinal: number, change: Partial<Host>): State => ({
  ...state,
  hosts: state.hosts.map((host, at) => (at === ordinal ? settled({ ...host, ...change }) : host)),
});

const settled = (host: Host): Host => (host.act === "" ? { ...host, ran: host.spec.generation } : host);

/** A recorded permission that was not used: see `trulyUsed`. */
const usedBy = ({ used, isUnstarted, act }: Host): number => (isUnstarted && act !== "starting" ? 0 : used);

/** It counts for the spec of the node's last run: a newer one may be on the disk while an earlier run acts. */
const lookOf = (host: Host): Look => ({
  generation: host.ran,
  isOut: host.group === 0,
  used: usedBy(host),
  data: host.data,
});

/** Whether most of its members are in the group, so that it accepts writes and expels the others. */
const hasMajority = ({ hosts, groups }: State, group: number): boolean => {
  const listed = groups[group - 1] ?? [];
  return listed.filter((each) => hosts[each]?.group === group).length * 2 > listed.length;
};

function stepsOf(rules: BootstrapRules, state: State, ordinal: number): Step<State>[] {
  const { desired } = state;
  const host = state.hosts[ordinal] as Host;
  const steps: Step<State>[] = [];
  const add = (name: string, to: State): void => void steps.push({ name: `${name} ${ordinal}`, to });
  if (host.spec.generation < desired.generation) {
    const permit = desired.node === ordinal ? desired.permit : 0;
    const { generation, staysOut } = desired;
    add("takes the spec", withHost(state, ordinal, { spec: { generation, permit, staysOut } }));
  }
  const before = state.rows[ordinal];
  // Two loops: the reconciler's report carries the last observation of the group, which may be older.
  for (const look of before === undefined ? [] : [lookOf(host), before.look]) {
    const row = { ran: host.ran, look };
    if (isSame(row, before)) continue;
    const rows = state.rows.map((each, at) => (at === ordinal ? row : each));
    add(look === before?.look ? "reports an earlier observation:" : "observes and reports", { ...state, rows });
  }
  steps.push(...actsOf(rules, state, ordinal), ...faultsOf(state, ordinal));
  return steps;
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function actsOf(rules: BootstrapRules, state: State, ordinal: number): Step<State>[] {
  const host = state.hosts[ordinal] as Host;
  if (host.act === "recorded")
    return [{ name: `starts a group: ${ordinal}`, to: withHost(state, ordinal, { act: "starting" }) }];
  if (host.act === "starting") {
    const groups = [...state.groups, [ordinal]];
    const to = withHost({ ...state, groups }, ordinal, { act: "", isUnstarted: false, group: groups.length });
    return [{ name: `has a group: ${ordinal}`, to }];
  }
  const [one, other] = othersOf(ordinal) as [number, number];
  // Whichever of the others it reaches.
  return [[], [one], [other], [one, other]].flatMap((reached) => decided(rules, state, ordinal, reached));
}

function decided(rules: BootstrapRules, state: State, ordinal: number, reached: number[]): Step<State>[] {
  const host = state.hosts[ordinal] as Host;
  const { spec } = host;
  const decision = rules.decideGroup(
    {
      node: nodeOf(ordinal),
      cluster: {
        replication: "semi_synch",
        group: GROUP,
        members,
        members_version: 1,
        ...(spec.permit !== 0 && { bootstrap: idOf(spec.permit) }),
        ...(spec.staysOut && { stay_out: true as const }),
      },
    },
    {
      own: { state: host.group === 0 ? "offline" : "online", readOnly: true, isPatient: false, hasDonor: true },
      others: othersOf(ordinal).map((other) => viewOf(state, other, ordinal, reached.includes(other))),
      used: { ...(usedBy(host) !== 0 && { bootstrapped: idOf(usedBy(host)) }) },
      errant: "",
    },
  );
  const name = `${decision.kind}: ${ordinal}, which reaches ${reached.join(" and ") || "nobody"}`;
  if (decision.kind === "bootstrap")
    return [{ name, to: withHost(state, ordinal, { act: "recorded", used: spec.permit, isUnstarted: true }) }];
  if (decision.kind !== "join") return [];
  const through = state.hosts.find(({ group }, at) => group !== 0 && decision.through.includes(nodeOf(at)));
  if (through === undefined || !hasMajority(state, through.group)) return [];
  const groups = state.groups.map((listed, at) =>
    at + 1 === through.group ? [...listed, ordinal].toSorted((a, b) => a - b) : listed,
  );
  const joined = { group: through.group, data: through.data, isUnstarted: false };
  return [{ name, to: withHost({ ...state, groups }, ordinal, joined) }];
}

const idOf = (permit: number): string => `00000000-0000-4000-8000-00000000000${permit}`;

const longAgoMs = 60_000;

/** A group invites whoever asks: that it lets one member join at a time is not what keeps a second group away. */
function viewOf({ hosts, groups }: State, ordinal: number, asking: number, isReached: boolean): MemberView {
  const group = hosts[ordinal]?.group ?? 0;
  const listed = (groups[group - 1] ?? []).map(nodeOf);
  return {
    node: nodeOf(ordinal),
    ageMs: isReached ? 0 : longAgoMs,
    state: group === 0 ? "offline" : "online",
    online: listed,
    listed,
    writable: false,
    ...(group !== 0 && { invites: nodeOf(asking) }),
  };
}

/** A server or an agent is killed; a group expels, accepts a write, or gives up without a majority. */
function faultsOf(state: State, ordinal: number): Step<State>[] {
  const host = state.hosts[ordinal] as Host;
  const { group } = host;
  const steps: Step<State>[] = [];
  const killed = { ...state, kills: state.kills - 1 };
  if (state.kills > 0 && (group !== 0 || host.act !== ""))
    steps.push({
      name: `the server ends: ${ordinal}`,
      to: withHost(killed, ordinal, { group: 0, act: "", isUnstarted: false }),
    });
  if (state.kills > 0 && host.act === "recorded")
    steps.push({ name: `the agent ends: ${ordinal}`, to: withHost(killed, ordinal, { act: "" }) });
  const index = state.groups.findIndex((listed, at) => listed.includes(ordinal) && at + 1 !== group);
  if (index >= 0 && hasMajority(state, index + 1)) {
    const groups = state.groups.map((listed, at) =>
      at === index ? listed.filter((each) => each !== ordinal) : listed,
    );
    steps.push({ name: `expels ${ordinal}`, to: { ...state, groups } });
  }
  if (group !== 0 && !hasMajority(state, group))
    steps.push({ name: `gives up: ${ordinal}`, to: withHost(state, ordinal, { group: 0 }) });
  if (group === 1 && host.data === 0 && (state.groups[0]?.length ?? 0) > 1 && hasMajority(state, 1)) {
    const hosts = state.hosts.map((each) => (each.group === 1 ? { ...each, data: 1 } : each));
    steps.push({ name: "a write", to: { ...state, hosts } });
  }
  return steps;
}

/** As the activity of a bootstrap: all permissions are withdrawn before the first one is given. */
function control(rules: BootstrapRules, state: State): Step<State>[] {
  const { desired } = state;
  const generation = desired.generation + 1;
  const ordered = (name: string, change: Partial<State["desired"]>): Step<State>[] => [
    { name, to: { ...state, desired: { ...desired, generation, ...change } } },
  ];
  const allStayOut = { withdrawn: 1, permit: 0, staysOut: true };
  if (desired.withdrawn === 0) return ordered("withdraws all", allStayOut);
  const known = ordinals.map((ordinal) => memberOf(rules, state, ordinal));
  const counted = membersToCount(known, { acceptsLoss: false, wasSuspended: false });
  const next = rules.nextOfBootstrap(known, counted);
  if (next.do === "withdraw") return ordered("withdraws", allStayOut);
  if (next.do === "release") return ordered("releases all", { staysOut: false });
  if (next.do !== "bootstrap" || desired.given === mostPermissions) return [];
  const node = ordinals.findIndex((ordinal) => nodeOf(ordinal) === next.node);
  const given = desired.given + 1;
  return ordered(`permits ${node}`, { permit: given, staysOut: false, node, given });
}

function memberOf(rules: BootstrapRules, { rows, desired, hosts }: State, ordinal: number): BootstrapMember {
  const host = hosts[ordinal] as Host;
  const row = rows[ordinal] ?? { ran: host.ran, look: lookOf(host) };
  const { isOut, used, data } = row.look;
  const report: GroupReport = {
    state: isOut ? "offline" : "online",
    online: isOut ? 0 : 2,
    shared: !isOut,
    ...(isOut && { gtid: `${GROUP}:1-${1 + data}` }),
    ...(used !== 0 && { bootstrapped: idOf(used) }),
  };
  return {
    node: nodeOf(ordinal),
    ordinal,
    dead: false,
    followed: rules.isFollowed(row, desired.generation),
    state: "running",
    report,
    bootstrap: desired.permit !== 0 && desired.node === ordinal ? idOf(desired.permit) : undefined,
    staysOut: desired.staysOut,
  };
}
