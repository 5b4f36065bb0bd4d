import { untilReceipt } from "../../kit/cluster.ts";
import { without, type Write } from "../../kit/cluster-writers.ts";
import { query } from "../../kit/records.ts";
import { storedObjects } from "../../kit/stored-objects.ts";
import type { Tenant } from "../../kit/tenant.ts";

/**
 * The transactions that only the old primary has were read from its tables. Each row is one transaction, so their
 * number must equal the number in the receipt. They include the acknowledged writes that were lost; the others were
 * committed there without an acknowledgement, because their writers were cut off.
 */
export function requireAmong(onlyAtOld: readonly Write[], lost: readonly Write[]): void {
  const elsewhere = without(lost, onlyAtOld);
  if (elsewhere.length > 0)
    throw new Error(`${elsewhere.length} of ${lost.length} lost writes were not at the old primary either`);
}

type Loss = { at: number; from: number; to: number; transactions: number };

/** In the receipt and, if there are any, as text in the object store. */
export async function requireReportedLoss(
  alice: Tenant,
  id: number,
  { at, from, to, transactions }: Loss,
): Promise<void> {
  const receipt = await untilReceipt(alice, id, at);
  const { planned, from_node, to_node, transactions_lost } = receipt;
  if (planned || from_node !== from || to_node !== to || transactions_lost !== transactions)
    throw new Error(
      `node ${to} is primary after node ${from}, which had ${transactions} errant transactions, and the receipt is ${JSON.stringify(receipt)}`,
    );
  const lostTransactions = await query<{ name: string; transactions: number }>(
    "select name, transactions from lost_transactions where database_id = $1 and saved_at >= $2",
    [id, new Date(at)],
  );
  const saved = lostTransactions.map((row) => row.transactions);
  if (saved.join() !== (transactions === 0 ? "" : String(transactions)))
    throw new Error(`${transactions} transactions were lost, and the saved ones are [${saved.join()}]`);
  const objects = await storedObjects();
  const missing = lostTransactions.filter(({ name }) => !objects.some((each) => each.endsWith(`/${name}`)));
  if (missing.length > 0) throw new Error(`no object ${missing.map(({ name }) => name).join()} in the store`);
}
