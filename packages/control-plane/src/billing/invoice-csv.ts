import type { InvoiceItem } from "@moorage/contract";
import { stringify } from "csv-stringify/sync";
import type { InvoiceItemRow } from "./invoice-store.ts";
import { viewOfItem } from "./view.ts";

const columns: readonly (keyof InvoiceItem)[] = [
  ...(["label", "type", "region", "from", "to", "quantity", "unit_price", "amount", "tax", "total"] as const),
];
const inCents = new Set<unknown>(["amount", "tax", "total"]);

/**
 * Labels come from tenants, and a spreadsheet executes what looks like a formula: such a cell gets a leading
 * apostrophe.
 */
export const csvOf = (items: readonly InvoiceItemRow[]): Uint8Array<ArrayBuffer> =>
  Buffer.from(
    stringify(items.map(viewOfItem), {
      columns: [...columns],
      header: true,
      record_delimiter: "windows",
      escape_formulas: true,
      cast: { number: (value, { column }) => (inCents.has(column) ? value.toFixed(2) : String(value)) },
    }),
  );
