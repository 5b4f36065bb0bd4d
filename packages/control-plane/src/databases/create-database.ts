import { randomBytes } from "node:crypto";
import type { MysqlDatabase, NewMysqlDatabase } from "@moorage/contract";
import { emit } from "#events/index.ts";
import { grantCreator, type Principal, takeFromLimits } from "#identity/index.ts";
import { linkEvent, openOperation } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";
import type { Once } from "#platform/http/once.ts";
import type { Sealer } from "#platform/seal.ts";
import {
  findEngineVersion,
  findPlan,
  findRegion,
  listEngineVersions,
  listPlans,
  listRegions,
  type Plan,
} from "#regions/index.ts";
import { defaultUpdates, initialStatus, replicationOf } from "./database.ts";
import { insertDatabase, nextDatabaseId } from "./database-store.ts";
import { entityOf, passwordPlace, targetOf } from "./entity.ts";
import { viewOfDatabase } from "./view.ts";

export type CreateDeps = {
  db: Db;
  clock: Clock;
  sealer: Sealer;
  nudgeRelay: () => void;
  provisionDeadlineSeconds: number;
  existingCustomersOnly: boolean;
};

export async function createDatabase(
  deps: CreateDeps,
  by: Principal,
  request: NewMysqlDatabase,
  once: Once,
): Promise<MysqlDatabase> {
  const { db, clock, sealer } = deps;
  if (deps.existingCustomersOnly) await requireCapability(db, by.accountId);
  const replication = replicationOf(request);
  const { plan, engineVersion } = await requireOffered(db, request);

  const created = await transact(db, "api.createMysqlDatabase", async (tx) => {
    await once.claim(tx);
    const now = clock();
    const id = await nextDatabaseId(tx);
    const database = await insertDatabase(tx, {
      account_id: by.accountId,
      id,
      label: request.label,
      engine_version: engineVersion.id,
      region: request.region,
      plan: plan.id,
      cluster_size: request.cluster_size,
      replication_type: replication,
      encrypted: request.encrypted,
      ssl_connection: request.ssl_connection,
      allow_list: request.allow_list,
      status: initialStatus,
      updates: JSON.stringify(defaultUpdates),
      port: null,
      admin_password: sealer.seal(passwordPlace(by.accountId, id), newPassword()),
      created_at: now,
      updated_at: now,
      deleted_at: null,
    });
    if (database === undefined)
      throw new DomainError("invalid", {
        field: "label",
        reason: `Label must be unique among your databases: "${request.label}" is taken.`,
      });
    const operation = await openOperation(tx, {
      accountId: by.accountId,
      kind: "provisionDatabase",
      entityId: id,
      at: now,
      deadlineSeconds: deps.provisionDeadlineSeconds,
    });
    await audit(tx, {
      at: now,
      account: by.accountId,
      actor: by.username,
      action: "create_database",
      target: targetOf(id),
    });
    await grantCreator(tx, by, "database", id);
    await takeFromLimits(tx, by.accountId, usageOf(plan, request.cluster_size));
    const eventId = await emit(tx, {
      accountId: by.accountId,
      username: by.username,
      action: "database_create",
      status: "started",
      entity: entityOf(database),
      operationId: operation.id,
      at: now,
    });
    await linkEvent(tx, operation.id, eventId);
    const view = viewOfDatabase({ ...database, ...engineVersion, id, disk_mb: plan.disk_mb, used_disk_mb: null });
    await once.keep(tx, view);
    return view;
  });
  deps.nudgeRelay();
  return created;
}

export const usageOf = (plan: Pick<Plan, "memory_mb" | "disk_mb">, clusterSize: number) => ({
  databases: 1,
  nodes: clusterSize,
  memory_mb: plan.memory_mb * clusterSize,
  disk_mb: plan.disk_mb * clusterSize,
});

/** An operator may open databases to those who have one, or whom they were given to. */
async function requireCapability(db: Db, accountId: number): Promise<void> {
  const { capabilities, databases } = await db
    .selectFrom("accounts")
    .select(["capabilities", "databases"])
    .where("id", "=", accountId)
    .executeTakeFirstOrThrow();
  if (databases === 0 && !capabilities.includes("Managed Databases"))
    throw new DomainError("forbidden", {
      reason: "Managed Databases are not open to this account yet. Ask the operator for the capability.",
    });
}

/** Region, type and engine, each refused with what would be accepted, all at once. */
async function requireOffered(db: Db | Tx, request: NewMysqlDatabase) {
  const [region, found, engineVersion] = await Promise.all([
    findRegion(db, request.region),
    findPlan(db, request.type),
    findEngineVersion(db, request.engine),
  ]);
  const plan = found?.deprecated === true ? undefined : found;
  const errors: ErrorDetail[] = [];
  const refuse = (field: string, offered: readonly { id: string }[]): void => {
    errors.push({
      field,
      reason: invalidReason(field, offered.map(({ id }) => id).join(", ") || "none is offered yet"),
    });
  };
  if (region === undefined) refuse("region", await listRegions(db));
  if (plan === undefined) refuse("type", await listPlans(db));
  if (engineVersion === undefined) refuse("engine", await listEngineVersions(db));
  if (request.encrypted)
    errors.push({
      field: "encrypted",
      reason: invalidReason("encrypted", "false (encryption at rest is not offered yet)"),
    });
  if (plan === undefined || engineVersion === undefined || errors.length > 0)
    throw new DomainError("invalid", ...errors);
  return { plan, engineVersion };
}

/** 192 random bits, in characters that need no quoting anywhere. */
export const newPassword = (): string => randomBytes(24).toString("base64url");
