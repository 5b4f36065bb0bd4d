import { type DatabaseFailover, toTimestamp } from "@moorage/contract";
import { sql } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";
import { phasesOf } from "./receipt.ts";

const columns = { created: sql.ref("primary_changes.at") };

type FailoverRow = Awaited<ReturnType<typeof listFailoverPage>>["rows"][number];

export const listFailoverPage = (
  db: Db,
  owner: { accountId: number; databaseId: number },
  page: PageRequest,
  filter: Filter,
) =>
  listPage(changesOf(db, owner.accountId, owner.databaseId), {
    page,
    filter,
    columns,
    lastly: { by: "primary_changes.id", direction: "desc" },
  });

const changesOf = (db: Db, accountId: number, databaseId: number) =>
  db
    .selectFrom("primary_changes")
    .innerJoin("nodes as new", "new.id", "primary_changes.to_node")
    .leftJoin("nodes as old", "old.id", "primary_changes.from_node")
    .selectAll("primary_changes")
    .select(["new.ordinal as to_ordinal", "old.ordinal as from_ordinal"])
    .where("primary_changes.account_id", "=", accountId)
    .where("primary_changes.database_id", "=", databaseId);

export const viewOfFailover = (row: FailoverRow): DatabaseFailover => ({
  id: row.id,
  created: toTimestamp(row.at),
  planned: row.operation_id !== null,
  from_node: row.from_ordinal,
  to_node: row.to_ordinal,
  phases: phasesOf(row.reports),
  gtid_before: row.gtid_before,
  gtid_after: row.gtid_after,
  transactions_lost: row.lost,
});
