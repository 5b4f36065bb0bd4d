import type { DatabaseStatus } from "@moorage/contract";
import { sql } from "kysely";
import { emitting } from "#events/index.ts";
import { type AccountLimits, counting, granting } from "#identity/index.ts";
import { opening } from "#operations/index.ts";
import { auditing } from "#platform/db/audit.ts";
import { prepare } from "#platform/db/prepare.ts";
import { type ClaimColumns, claiming } from "#platform/http/idempotency.ts";

/** Everything that a create writes, column by column. */
type Create = ClaimColumns &
  AccountLimits & {
    accountId: number;
    userId: number;
    username: string;
    restricted: boolean;
    at: Date;
    id: number;
    label: string;
    url: string;
    target: string;
    engineVersion: string;
    region: string;
    plan: string;
    clusterSize: number;
    replicationType: string;
    encrypted: boolean;
    sslConnection: boolean;
    allowList: string[];
    status: DatabaseStatus;
    updates: string;
    adminPassword: string;
    forkSource: number | null;
    forkRestoreTime: Date | null;
    operationId: number;
    kind: string;
    input: string;
    deadlineAt: Date;
    sweepAt: Date;
  };

type Outcome = AccountLimits &
  Record<`max_${keyof AccountLimits}`, number> & {
    claimed: boolean;
    created: boolean;
    counted: boolean;
    opened: boolean;
  };

/**
 * The whole create in one statement. Each part writes from the result of the part before it, so a part that refuses
 * leaves the later ones empty, and the outcome names that part. The caller then rolls back.
 */
export const acceptCreate = prepare("accept-create", (_db, create: Create) => {
  const entityId = sql`${create.id}::bigint`;
  return sql<Outcome>`
  with claimed as (${claiming(create)}),
  created as (
    insert into databases (account_id, id, label, engine_version, region, plan, cluster_size, replication_type,
      encrypted, ssl_connection, allow_list, status, updates, admin_password, fork_source, fork_restore_time,
      created_at, updated_at)
    select ${create.accountId}::bigint, ${entityId}, ${create.label}::text, ${create.engineVersion}::text,
      ${create.region}::text, ${create.plan}::text, ${create.clusterSize}::int, ${create.replicationType}::text,
      ${create.encrypted}::boolean, ${create.sslConnection}::boolean, ${create.allowList}::text[],
      ${create.status}::text, ${create.updates}::jsonb, ${create.adminPassword}::text,
      ${create.forkSource}::bigint, ${create.forkRestoreTime}::timestamptz, ${create.at}::timestamptz,
      ${create.at}::timestamptz
    where ${create.keySha256}::bytea is null or exists (select from claimed)
    on conflict (account_id, label) where deleted_at is null do nothing
    returning id),
  granted as (${granting(create, "database", sql`from created where ${create.restricted}::boolean`)}),
  audited as (${auditing(
    {
      at: create.at,
      account: create.accountId,
      actor: create.username,
      action: "create_database",
      target: create.target,
      detail: "{}",
    },
    sql`from created`,
  )}),
  account as (${counting(create, sql`from created`)}),
  event as (${emitting({
    accountId: create.accountId,
    username: create.username,
    action: "database_create",
    status: "started",
    entityType: "database",
    entityId,
    entityLabel: create.label,
    entityUrl: create.url,
    operationId: create.operationId,
    message: null,
    at: create.at,
    finishedAt: null,
  })}),
  operation as (${opening(
    {
      accountId: create.accountId,
      operationId: create.operationId,
      kind: create.kind,
      entityId: create.id,
      eventId: sql`event.id`,
      input: create.input,
      at: create.at,
      deadlineAt: create.deadlineAt,
      sweepAt: create.sweepAt,
    },
    sql`from event, installation`,
  )})
  select exists (select from claimed) as claimed, exists (select from created) as created,
    exists (select from account) as counted, exists (select from operation) as opened, databases, nodes, memory_mb,
    disk_mb, max_databases, max_nodes, max_memory_mb, max_disk_mb
  from (select) always left join account on true`;
});
