import { sql } from "kysely";
import { readAnchors } from "#chains/anchor.ts";
import { createLinkJob } from "#chains/link-job.ts";
import { verifyPage, type VerifiedPage } from "#chains/verify-page.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { newWorld, type World } from "./world.ts";

/** Writes rows of every chain, as many as given of each. */
export async function writeRows(db: Db | Tx, accountId: number, count: number): Promise<void> {
  await sql`
    insert into audit (at, account_id, actor, action, target, detail)
    select now(), ${accountId}, 'alice', 'change', 'database/' || n, '{"fields":["label"]}'
    from generate_series(1, ${count}) as n`.execute(db);
  await sql`
    insert into ledger (account_id, at, kind, source, receivable_micros, cash_micros)
    select ${accountId}, now(), 'payment', nextval('ledger_seq'), -n, n from generate_series(1, ${count}) as n`.execute(
    db,
  );
  await sql`
    with month as (
      insert into invoices (account_id, month, label, created_at, until, billing_source, bill_to, subtotal_micros,
        tax_micros, total_micros, tax_summary)
      select ${accountId}, date '3000-01-01' + make_interval(months => nextval('invoices_seq')::int), 'Invoice', now(),
        now(), 'operator', '{"company":"Harbour"}', 100, 19, 119, '[]' from generate_series(1, ${count})
      returning account_id, id)
    insert into invoice_items (account_id, invoice_id, ordinal, label, type, from_at, to_at, quantity,
      unit_price_micros, amount_micros, tax_micros, total_micros)
    select account_id, id, 1, 'Usage of ' || id, 'hourly', now(), now(), 1, 100, 100, 19, 119 from month`.execute(db);
  await sql`
    insert into adjustments (account_id, at, label, amount_micros)
    select ${accountId}, now(), 'Goodwill', 10000 * n from generate_series(1, ${count}) as n`.execute(db);
  await sql`
    insert into credits (account_id, description, summary, credit_micros, monthly_cap_micros, granted_at)
    select ${accountId}, 'For new accounts', 'Welcome ' || nextval('credits_seq'), 100, 10, now()
    from generate_series(1, ${count})`.execute(db);
}

export type LogLine = { code: string; anchor?: string; chain?: string };

/** A world, and the job of one worker, whose log lines are kept. */
export async function chainedWorld() {
  const world = await newWorld();
  const { accountId } = await world.customer();
  const lines: LogLine[] = [];
  return {
    world,
    accountId,
    lines,
    link: createLinkJob({ ...world, log: keep(lines) }),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

const keep = (lines: LogLine[]) => {
  const write = (line: unknown): void => void lines.push(line as LogLine);
  return { error: write, info: write };
};

/** All pages of all chains, as the command line reads them. */
export async function verifyAll(
  deps: Pick<World, "db" | "sealer">,
  { anchor, most = 2000 }: { anchor?: string | undefined; most?: number } = {},
) {
  const anchors = anchor === undefined ? new Map() : readAnchors(anchor);
  const pages: VerifiedPage[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await verifyPage(deps, { cursor, anchors, most });
    pages.push(page);
    cursor = page.next;
  }
  const sum = (field: "rows" | "links" | "waiting"): number => pages.reduce((total, page) => total + page[field], 0);
  return {
    faults: pages.flatMap(({ chain, faults }) => faults.map(({ fault }) => `${chain}: ${fault}`)),
    rows: sum("rows"),
    links: sum("links"),
    waiting: sum("waiting"),
    anchor: pages.flatMap(({ anchor: newest }) => newest ?? []).join(" "),
  };
}
