import type { Availability } from "@moorage/contract";
import { MANAGED_DATABASES, mayHaveDatabases } from "#databases/index.ts";
import type { Db } from "#platform/db/database.ts";
import { listPage } from "#platform/db/list-page.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter.ts";
import { type Page, type PageRequest, toPage } from "#platform/http/page.ts";
import { type AccountRow, findAccount } from "./account-store.ts";

type Deps = { db: Db; existingCustomersOnly: boolean };

/** The operator lets each account see it, or not. */
async function requireAuthorized(db: Db, accountId: number): Promise<AccountRow> {
  const account = await findAccount(db, accountId);
  if (!account.sees_availability)
    throw new DomainError("forbidden", {
      reason: "Unauthorized: this account may not see what is available in each region. Ask the operator for it.",
    });
  return account;
}

export async function listAvailability(
  deps: Deps,
  accountId: number,
  page: PageRequest,
  filter: Filter,
): Promise<Page<Availability>> {
  const account = await requireAuthorized(deps.db, accountId);
  const { rows, results } = await listPage(regions(deps.db), {
    page,
    filter,
    lastly: { by: "regions.id" },
  });
  return toPage(
    page,
    results,
    rows.map((row) => viewOf(deps, account, row)),
  );
}

export async function viewAvailability(deps: Deps, accountId: number, region: string): Promise<Availability> {
  const account = await requireAuthorized(deps.db, accountId);
  const row = await regions(deps.db).where("regions.id", "=", region).executeTakeFirst();
  if (row === undefined) throw notFound();
  return viewOf(deps, account, row);
}

/** A database can be had where a host takes it, and nothing is known to be broken. */
const regions = (db: Db) =>
  db
    .selectFrom("regions")
    .leftJoin("outages", "outages.region", "regions.id")
    .select(["regions.id", "outages.message as outage"])
    .select(({ exists, selectFrom }) =>
      exists(
        selectFrom("hosts")
          .select("hosts.id")
          .whereRef("hosts.region", "=", "regions.id")
          .where("hosts.state", "=", "active"),
      )
        .$castTo<boolean>()
        .as("has_host"),
    );

function viewOf(
  { existingCustomersOnly }: Deps,
  account: AccountRow,
  row: { id: string; outage: string | null; has_host: boolean },
): Availability {
  const isThere = row.has_host && row.outage === null && mayHaveDatabases(account, existingCustomersOnly);
  return {
    region: row.id,
    available: isThere ? [MANAGED_DATABASES] : [],
    unavailable: isThere ? [] : [MANAGED_DATABASES],
  };
}
