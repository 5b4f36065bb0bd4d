import { isSetBack } from "../../../packages/agent/src/gateway/poll.ts";
import { acceptSpec } from "../../../packages/agent/src/specs/spec-acceptance.ts";
import { testSpec } from "../../../packages/agent/src/testing/node-spec.ts";
import { isLaterThan } from "../../../packages/control-plane/src/databases/recovery/recovery.ts";
import { progressOf } from "../../../packages/control-plane/src/fleet/check-phase.ts";
import { wasSetBack } from "../../../packages/control-plane/src/fleet/prove-current.ts";
import { nextGeneration } from "../../../packages/control-plane/src/fleet/set-desired.ts";
import type { Model, Step } from "./search.ts";

export const shippedRollback = {
  acceptSpec,
  isSetBack,
  wasSetBack,
  progressOf,
  nextGeneration,
  isLaterThan,
  /** As `openRecovery`. */
  mayContinue: (beganOn: string, here: string): boolean => beganOn === here,
  /** The statement that an agent has kept which ended while it wrote the specs. As its `take`. */
  keptStatement: (_before: Told, after: Told): Told => after,
};
export type RollbackRules = typeof shippedRollback;

/** A desired state of the one node. `list`: the tenant's allow list; each new one removes the sources of those before. */
type Spec = { epoch: number; generation: number; list: number };
type Position = { server: string; timeline: number; lsn: number };
type Installation = {
  epoch: number;
  /** 0: none. */
  recoveryEpoch: number;
  isSetBack: boolean;
  noticed: string;
  noticedLsn: number;
  /** The server for which the host was proven not to be ahead. */
  proven: string;
  /** The highest epoch that its host has sent. */
  agentEpoch: number;
  revision: number;
  list: number;
  desired: Spec;
  observed: { epoch: number; generation: number };
  /** The open change, and the spec that it waits for. */
  change: { list: number; target: { epoch: number; generation: number } | null } | null;
  digest: { epoch: number; spec: Spec } | null;
  /** The server on which a recovery began. */
  recoveringOn: string;
  lsn: number;
};
/** A statement of the control plane, which nobody else can make. */
type Told = { epoch: number; revision: number; position: Position };
type Reply = { epoch: number; revision: number; told: Told | null; digest: boolean; spec: Spec | null };
type State = {
  /** The start of the PostgreSQL server, and its timeline. */
  start: number;
  timeline: number;
  db: Installation;
  copy: Installation | null;
  /** What the host has on its disk. */
  host: { epoch: number; revision: number; told: Told; spec: Spec };
  /** On their way: each may arrive at any time, or never. */
  reply: Reply | null;
  report: { spec: Spec; digest: number } | null;
  /** The newest allow list, and the newest that was reported as applied. */
  lists: number;
  told: number;
  /** How many changes a tenant makes, and how often PostgreSQL is set back. */
  left: { changes: number; setBacks: number };
};

const NODE = testSpec().node;
const fingerprintOf = ({ start, timeline }: Pick<State, "start" | "timeline">): string => `${timeline}.${start}`;
const positionOf = ({ timeline, db }: State): Position => ({ server: "s", timeline, lsn: db.lsn });

/** One node of one host; its PostgreSQL is set back to any earlier copy, on the same timeline or a new one. */
export function rollbackModel(rules: RollbackRules, left: State["left"]): Model<State> {
  const spec: Spec = { epoch: 1, generation: 1, list: 1 };
  return {
    initial: {
      start: 1,
      timeline: 1,
      db: {
        epoch: 1,
        recoveryEpoch: 0,
        isSetBack: false,
        noticed: "1.1",
        noticedLsn: 1,
        proven: "1.1",
        agentEpoch: 1,
        revision: 1,
        list: 1,
        desired: spec,
        observed: { epoch: 1, generation: 1 },
        change: null,
        digest: null,
        recoveringOn: "",
        lsn: 1,
      },
      copy: null,
      host: {
        epoch: 1,
        revision: 1,
        told: { epoch: 1, revision: 1, position: { server: "s", timeline: 1, lsn: 1 } },
        spec,
      },
      reply: null,
      report: null,
      lists: 1,
      told: 1,
      left,
    },
    next: (state) => [
      ...changes(rules, state),
      ...postgres(state),
      ...messages(rules, state),
      ...(state.db.isSetBack ? recovery(rules, state) : []),
    ],
    fault: ({ told, host }) =>
      host.spec.list < told
        ? `list ${told} was reported as applied, and list ${host.spec.list} is on the host`
        : undefined,
  };
}

const written = (state: State, change: Partial<Installation>): State => ({
  ...state,
  db: { ...state.db, ...change, lsn: state.db.lsn + 1 },
});

/** A tenant's change, up to its end. */
function changes(rules: RollbackRules, state: State): Step<State>[] {
  const { db, left } = state;
  const isProven = db.proven === fingerprintOf(state) && !db.isSetBack && db.recoveryEpoch === 0;
  if (db.change === null) {
    if (!isProven || left.changes === 0) return [];
    const list = state.lists + 1;
    const to = written(
      { ...state, lists: list, left: { ...left, changes: left.changes - 1 } },
      { list, change: { list, target: null } },
    );
    return [{ name: `list ${list} is accepted`, to }];
  }
  const { list, target } = db.change;
  if (target === null) {
    if (!isProven) return [];
    const row = { desired_epoch: db.desired.epoch, desired_generation: db.desired.generation };
    const next = { epoch: db.epoch, generation: rules.nextGeneration(row as never, db.epoch) };
    const desired = { ...next, list: db.list };
    const to = written(state, { desired, revision: db.revision + 1, change: { list, target: next } });
    return [{ name: `list ${db.list} is desired`, to }];
  }
  const node = {
    id: NODE,
    tombstoned: false,
    desired_spec: null,
    observed_epoch: db.observed.epoch,
    observed_generation: db.observed.generation,
    observed_state: "running" as const,
    observed_message: null,
    observed_tasks: [],
  };
  if (rules.progressOf([node], [{ node: NODE, ...target }]).state !== "observed") return [];
  const told = Math.max(state.told, list);
  return [{ name: `list ${list} is reported as applied`, to: { ...written(state, { change: null }), told } }];
}

/** A copy is taken, or takes the place of the server. */
function postgres(state: State): Step<State>[] {
  const { copy, left, start, timeline, db } = state;
  const steps: Step<State>[] = [];
  if (copy === null && left.setBacks > 0) steps.push({ name: "a copy is taken", to: { ...state, copy: db } });
  if (copy !== null && copy.lsn < db.lsn)
    for (const kind of ["snapshot", "standby"] as const)
      steps.push({
        name: `a ${kind} takes over`,
        to: {
          ...state,
          db: copy,
          copy: null,
          start: start + 1,
          timeline: kind === "standby" ? timeline + 1 : timeline,
          left: { ...left, setBacks: left.setBacks - 1 },
        },
      });
  return steps;
}

function messages(rules: RollbackRules, state: State): Step<State>[] {
  const { reply, report, host } = state;
  const steps: Step<State>[] = [{ name: "the host polls", to: polled(rules, state) }];
  if (reply !== null) {
    const to = taken(rules, state, reply);
    steps.push({ name: "the host takes the reply", to: { ...to, reply: null } });
    const interrupted = { ...host, spec: to.host.spec, told: rules.keptStatement(host.told, to.host.told) };
    steps.push({
      name: "the agent takes it and ends before the revision",
      to: { ...to, host: interrupted, reply: null },
    });
  }
  if (report === null || report.spec.generation !== host.spec.generation || report.spec.epoch !== host.spec.epoch)
    steps.push({ name: "the host reports", to: { ...state, report: { spec: host.spec, digest: 0 } } });
  if (report !== null) steps.push({ name: "the report is stored", to: { ...stored(state, report), report: null } });
  return steps;
}

/** As `pollDesired`. */
function polled(rules: RollbackRules, before: State): State {
  const here = fingerprintOf(before);
  const db = before.db.noticed === here ? before.db : { ...before.db, noticed: here, noticedLsn: before.db.lsn };
  const state = { ...before, db };
  const { host } = state;
  const server = { fingerprint: here, position: positionOf(state) };
  const installation = { epoch: db.epoch, noticed_lsn: db.noticedLsn };
  const digest = db.epoch > 1 && (db.digest?.epoch ?? 0) < db.epoch && host.epoch <= db.epoch;
  const told = { epoch: db.epoch, revision: db.revision, position: server.position };
  const reply: Reply = { epoch: db.epoch, revision: db.revision, told, digest, spec: null };
  const agentEpoch = Math.max(db.agentEpoch, host.told.epoch);
  if (rules.wasSetBack(installation, { revision: db.revision, proven_fingerprint: db.proven }, server, host.told))
    return { ...state, db: { ...db, agentEpoch, isSetBack: true }, reply: { ...reply, told: null, digest: false } };
  const proven = { ...state, db: { ...db, agentEpoch, proven: here } };
  if (digest || db.recoveryEpoch !== 0) return { ...proven, reply };
  const since = host.epoch === db.epoch ? host.revision : -1;
  return { ...proven, reply: { ...reply, spec: db.revision > since ? db.desired : null } };
}

/** As the agent's poll. */
function taken(rules: RollbackRules, state: State, reply: Reply): State {
  const report = reply.digest ? { spec: state.host.spec, digest: reply.epoch } : state.report;
  if (rules.isSetBack(reply, state.host)) return { ...state, report };
  const host = { ...state.host, told: reply.told ?? state.host.told };
  if (reply.spec === null) return { ...state, host, report };
  const { epoch, generation } = reply.spec;
  const { kind } = rules.acceptSpec(testSpec({ epoch, generation }), () => ({ stored: host.spec }));
  const spec = kind === "store" ? reply.spec : host.spec;
  return { ...state, report, host: { ...host, epoch: reply.epoch, revision: reply.revision, spec } };
}

/** As `storeReport`: never an older one, and a later one than ours shows that our database was set back. */
function stored(state: State, { spec, digest }: { spec: Spec; digest: number }): State {
  const { db } = state;
  const known = digest > (db.digest?.epoch ?? 0) ? { ...db, digest: { epoch: digest, spec } } : db;
  if (isBefore(spec, db.observed)) return { ...state, db: known };
  const isAhead = isBefore(db.desired, spec) && spec.epoch >= db.epoch;
  const observed = { epoch: spec.epoch, generation: spec.generation };
  return { ...state, db: { ...known, observed, isSetBack: known.isSetBack || isAhead } };
}

type Generation = Pick<Spec, "epoch" | "generation">;
const isBefore = (one: Generation, other: Generation): boolean =>
  one.epoch !== other.epoch ? one.epoch < other.epoch : one.generation < other.generation;

/** The operator's command: the epoch rises, the host sends what it has, and row and host are compared. */
function recovery(rules: RollbackRules, state: State): Step<State>[] {
  const { db } = state;
  const here = fingerprintOf(state);
  if (db.recoveryEpoch === 0 || !rules.mayContinue(db.recoveringOn, here)) {
    const epoch = Math.max(db.epoch, db.agentEpoch) + 1;
    const to = written(state, { epoch, recoveryEpoch: epoch, recoveringOn: here });
    return [{ name: `a recovery begins epoch ${epoch}`, to }];
  }
  if (db.digest?.epoch !== db.recoveryEpoch) return [];
  const { desired, digest, epoch } = db;
  const row = { desired_epoch: desired.epoch, desired_generation: desired.generation };
  const isBehind = rules.isLaterThan(digest.spec, row);
  const list = isBehind ? digest.spec.list : db.list;
  const reissued = { epoch, generation: rules.nextGeneration(row as never, epoch), list };
  const to = written(state, {
    list,
    desired: reissued,
    revision: db.revision + 1,
    change: isBehind ? null : db.change,
    recoveryEpoch: 0,
    isSetBack: false,
    noticed: here,
    noticedLsn: db.lsn,
    proven: here,
  });
  return [{ name: "the recovery ends", to }];
}
