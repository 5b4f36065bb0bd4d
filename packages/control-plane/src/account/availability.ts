import type { Availability } from "@moorage/contract";
import { MANAGED_DATABASES, mayHaveDatabases } from "#databases/index.ts";
import type { Db } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { type Page, type PageRequest, toPage } from "#platform/http/page.ts";
import { findRegion, pageOfRegions, type Region, takesDatabases } from "#regions/index.ts";
import { findAccount } from "./account-store.ts";
import { texts } from "./texts.ts";

type Deps = { db: Db; existingCustomersOnly: boolean };

export async function listAvailability(
  deps: Deps,
  accountId: number,
  page: PageRequest,
  filter: Filter,
): Promise<Page<Availability>> {
  const mayHave = await requireAuthorized(deps, accountId);
  const { rows, results } = await pageOfRegions(deps.db, { page, filter });
  return toPage(
    page,
    results,
    rows.map((region) => viewOf(region, mayHave)),
  );
}

export async function viewAvailability(deps: Deps, accountId: number, id: string): Promise<Availability> {
  const mayHave = await requireAuthorized(deps, accountId);
  const region = await findRegion(deps.db, id);
  if (region === undefined) throw notFound();
  return viewOf(region, mayHave);
}

/**
 * Refuses an account that the operator does not let see availability. Returns whether the account may have databases at
 * all.
 */
async function requireAuthorized({ db, existingCustomersOnly }: Deps, accountId: number): Promise<boolean> {
  const account = await findAccount(db, accountId);
  if (!account.sees_availability) throw new DomainError("forbidden", { reason: texts.availabilityHidden() });
  return mayHaveDatabases(db, account, existingCustomersOnly);
}

function viewOf(region: Region, mayHave: boolean): Availability {
  const isThere = mayHave && takesDatabases(region);
  return {
    region: region.id,
    available: isThere ? [MANAGED_DATABASES] : [],
    unavailable: isThere ? [] : [MANAGED_DATABASES],
  };
}
