import { randomUUID } from "node:crypto";
import type { Text } from "@moorage/contract/texts";
import { emit } from "#events/index.ts";
import { findNodes, type NodeRow } from "#fleet/index.ts";
import { raise, resolve } from "#notifications/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { newestRestorable } from "../archive/newest-restorable.ts";
import { openWork, type Settlement } from "../changes/change.ts";
import { type DatabaseRow, lockDatabase, saveDatabase } from "../model/database-store.ts";
import { statusDuring } from "../model/database.ts";
import { entityOf } from "../model/entity.ts";
import { meterDatabase } from "../model/usage.ts";
import { texts } from "../model/texts.ts";
import { insertTimeline } from "../model/timeline-store.ts";
import { HOST_CAUSE, restore } from "../timelines/restore-change.ts";
import type { RestoreInput } from "../timelines/restore-input.ts";
import { nextOfDatabase, type ObservedDatabase } from "./lost-host.ts";
import {
  findAffected,
  type Key,
  type LostHost,
  observeHost,
  openOperationOf,
  secondsSinceFailure,
} from "./lost-hosts-store.ts";

/** The steps at which a fault drill can kill the job. */
export const lostHostSteps = ["worker.lost-host"] as const;

const BATCH = 100;
/** Short, because a tenant may be waiting. */
const BACK_OFF = { leastMs: 5_000, mostMs: 60_000 };

type LostHostDeps = {
  db: Db;
  clock: Clock;
  eachDue: EachDue;
  restoreDeadlineSeconds: number;
  /** Of the operations on databases. */
  kinds: readonly string[];
  /** Ends an operation, in a transaction of its own. */
  endChange: (operationId: number, settlement: Settlement) => Promise<void>;
};

/**
 * Databases of one node, whose host nothing replaces: shows that the host is away or that the server does not answer, and
 * restores the data elsewhere once an operator has declared the host dead.
 */
export const createLostHostsJob = (deps: LostHostDeps) => {
  const { db, clock } = deps;
  // An outage of ours does not count as silence of the hosts.
  const since = clock();
  const each = deps.eachDue("lostHosts", "database", BACK_OFF);
  return async (): Promise<void> => {
    const affected = await findAffected(db, { now: clock(), since, most: BATCH + each.skipped() });
    await each.run(affected, async (key) => {
      const toEnd = await transact(db, lostHostSteps[0], (tx) => check(deps, tx, key, since));
      if (toEnd !== undefined) await deps.endChange(toEnd, { done: false, message: texts.hostLost() });
    });
  };
};

/** Returns the operation to end. */
async function check(deps: LostHostDeps, tx: Tx, key: Key, since: Date): Promise<number | undefined> {
  const now = deps.clock();
  const database = await lockDatabase(tx, key.account_id, key.id);
  if (database.deleted_at !== null || database.timeline_id === null) return undefined;
  const [node] = await findNodes(tx, database.account_id, database.id);
  const operation = await openOperationOf(tx, database, deps.kinds);
  const host = node && (await observeHost(tx, node, { now, since }));
  const newest = host?.dead === false ? undefined : await newestRestorable(tx, database.timeline_id);
  const observed: ObservedDatabase = {
    status: database.status,
    host,
    unresponsive: node?.unresponsive ?? false,
    busy: operation && { ends: endsWithoutHost(operation, node) },
    restorable: newest !== undefined,
    failedSeconds: await secondsSinceFailure(tx, database, now),
  };
  switch (nextOfDatabase(observed)) {
    case "end operation":
      return operation?.id;
    case "degrade":
      await degrade(tx, database, observed, now);
      return undefined;
    case "heal":
      await heal(tx, database, now);
      return undefined;
    case "give up":
      await giveUp(tx, database, now);
      return undefined;
    case "restore elsewhere":
      if (newest !== undefined) await restoreElsewhere(deps, tx, database, { node, host, newest, now });
      return undefined;
    case "nothing":
      return undefined;
  }
}

/** A deletion ends by its deadline, and a restore elsewhere does not need the dead host, unless it is its own target. */
function endsWithoutHost({ kind, input }: { kind: string; input: object }, node: NodeRow | undefined): boolean {
  if (kind === "deleteDatabase") return false;
  const { elsewhere } = input as Partial<RestoreInput>;
  return kind !== restore.kind || elsewhere === undefined || (node !== undefined && node.id !== elsewhere.node);
}

async function degrade(
  tx: Tx,
  database: DatabaseRow,
  { host, unresponsive }: ObservedDatabase,
  now: Date,
): Promise<void> {
  await saveDatabase(tx, database.account_id, database.id, { status: "degraded", updated_at: now });
  const { label } = database;
  if (host === undefined || host.dead) await notify(tx, database, texts.hostLostRestoring({ label }), now);
  else if (unresponsive) await notify(tx, database, texts.unresponsive({ label }), now, texts.unresponsiveTitle());
  else await notify(tx, database, texts.hostUnreachable({ label }), now);
}

async function heal(tx: Tx, database: DatabaseRow, now: Date): Promise<void> {
  const healed = await saveDatabase(tx, database.account_id, database.id, { status: "active", updated_at: now });
  await resolve(tx, aboutHost(healed));
  await emit(tx, {
    ...eventOf(healed, now),
    status: "finished",
    message: texts.reachableAgain({ label: database.label }),
  });
}

/** The database costs nothing from now on. Its tenant deletes it. */
async function giveUp(tx: Tx, database: DatabaseRow, now: Date): Promise<void> {
  const lost = await saveDatabase(tx, database.account_id, database.id, { status: "failed", updated_at: now });
  await meterDatabase(tx, { ...lost, deleted_at: now }, now);
  await notify(tx, lost, texts.hostLostWithoutBackup({ label: database.label }), now);
}

async function restoreElsewhere(
  { restoreDeadlineSeconds }: LostHostDeps,
  tx: Tx,
  database: DatabaseRow,
  {
    node,
    host,
    newest,
    now,
  }: {
    node: NodeRow | undefined;
    host: LostHost | undefined;
    newest: NonNullable<Awaited<ReturnType<typeof newestRestorable>>>;
    now: Date;
  },
): Promise<void> {
  const { account_id, id, status, label } = database;
  if (status === "active") await notify(tx, database, texts.hostLostRestoring({ label }), now);
  const previous = database.timeline_id as string;
  const timeline = randomUUID();
  await insertTimeline(tx, database, { id: timeline, from: { parent: previous, until: newest.until }, at: now });
  await saveDatabase(tx, account_id, id, { status: statusDuring("restore"), updated_at: now });
  await openWork(
    tx,
    database,
    { ...restore, audited: "restore_elsewhere", events: ["database_node_replace"] },
    {
      input: {
        backup: newest.until.toISOString(),
        timeline,
        previous,
        before: status === "suspended" ? status : "degraded",
        lost: true,
        gtid: newest.gtid,
        elsewhere: { node: node?.id ?? null, seen_at: host?.seenAt?.toISOString() ?? null, automatic: true },
      } satisfies RestoreInput,
      detail: { host: host?.name ?? null, until: newest.until },
      username: null,
      at: now,
      deadlineSeconds: restoreDeadlineSeconds,
    },
  );
}

const aboutHost = (database: DatabaseRow) => ({
  accountId: database.account_id,
  entity: entityOf(database),
  cause: HOST_CAUSE,
});

const eventOf = (database: DatabaseRow, at: Date) =>
  ({
    accountId: database.account_id,
    username: null,
    action: "database_degraded",
    entity: entityOf(database),
    at,
  }) as const;

async function notify(
  tx: Tx,
  database: DatabaseRow,
  message: Text,
  at: Date,
  title = texts.hostAwayTitle(),
): Promise<void> {
  await raise(tx, aboutHost(database), { type: "notice", severity: "critical", label: title, message, body: null }, at);
  await emit(tx, { ...eventOf(database, at), status: "notification", message });
}
