import { type Selectable, sql } from "kysely";
import { mayView, type Principal } from "#identity/index.ts";
import type { Db } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import { texts } from "./texts.ts";

export type NotificationRow = Omit<Selectable<Tables["notifications"]>, "account_id" | "id" | "cause">;
/** SQL's `format` replaces it by the label of each row. */
const LABEL = { label: "%1$s" };

/** The causes with the widest effect come first, then by age. */
type Placed = NotificationRow & { place: number; number: number };

/**
 * Outages, scheduled maintenance and pending patches are read from their own tables for each reader: an outage concerns
 * every account of its region, and none of them gets a row.
 */
export const listNotificationPage = (db: Db, principal: Principal, page: PageRequest, filter: Filter) => {
  const standing = sql<Placed>`(
    ${outages(principal)} union all ${raised(principal)} union all ${maintenance(principal)} union all ${patches(principal)}
  )`.as<"standing">(sql`standing (place, number, type, severity, label, message, body,
    entity_type, entity_id, entity_label, entity_url, since, until)`);
  return listPage(db.selectFrom(standing).selectAll(), {
    page,
    filter,
    columns: { type: sql.ref("type"), "entity.type": sql.ref("entity_type") },
    lastly: { by: sql`(place, number, entity_id)` },
  });
};

/** Regions with an outage in which the reader can see an entity of the account. */
const outages = (principal: Principal) => sql`
  select 1, 0, 'outage', 'critical', format(${texts.outage({ region: "%s" }).text}::text, regions.label),
    outages.message, null,
    'region', regions.id, null, '/v4/regions/' || regions.id, outages.since, null
  from outages join regions on regions.id = outages.region where (
    exists (select from databases where databases.account_id = ${principal.accountId}
      and databases.region = regions.id and databases.deleted_at is null
      and ${mayView(principal, "database", "databases.id")})
    or exists (select from computes where computes.account_id = ${principal.accountId}
      and computes.region = regions.id and computes.deleted_at is null
      and ${mayView(principal, "compute", "computes.id")}))`;

/** A restricted reader sees those of the whole account, and of entities that they may view. */
const raised = (principal: Principal) => sql`
  select 2, id, type, severity, label, message, body, entity_type, entity_id, entity_label, entity_url, since, until
  from notifications where account_id = ${principal.accountId}
    and (${!principal.restricted}::boolean or entity_type = 'account'
      or exists (select from entity_grants held where held.account_id = ${principal.accountId}
        and held.user_id = ${principal.userId} and held.entity_type = notifications.entity_type
        and held.entity_id::text = notifications.entity_id))`;

const maintenance = (principal: Principal) => sql`
  select 3, maintenance.id,
    case maintenance.type when 'reboot' then 'reboot_scheduled' else 'migration_scheduled' end, 'major',
    case maintenance.type when 'reboot' then ${texts.rebootScheduled().text}::text
      else ${texts.migrationScheduled().text}::text end,
    format(case maintenance.type
      when 'reboot' then ${texts.reboot(LABEL).text}::text
      when 'cold_migration' then ${texts.coldMigration(LABEL).text}::text
      else ${texts.liveMigration(LABEL).text}::text end, computes.label),
    maintenance.reason, 'compute', computes.id::text, computes.label, '/v4/compute/instances/' || computes.id,
    maintenance.when_at, null
  from maintenance
  join computes on computes.account_id = maintenance.account_id and computes.id = maintenance.compute_id
  where maintenance.account_id = ${principal.accountId} and maintenance.status in ('pending', 'started')
    and computes.deleted_at is null and ${mayView(principal, "compute", "computes.id")}`;

const patches = (principal: Principal) => sql`
  select 4, id, 'maintenance', 'minor', ${texts.patchPending().text}::text,
    format(${texts.patch(LABEL).text}::text, label), null,
    'database', id::text, label, '/v4/databases/mysql/instances/' || id, patch_due_at, null
  from databases
  where account_id = ${principal.accountId} and deleted_at is null and patch_due_at is not null
    and ${mayView(principal, "database", "databases.id")}`;
