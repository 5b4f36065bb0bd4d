import { isDeepStrictEqual } from "node:util";
import { wholeCents } from "../rate.ts";
import type { RatedInvoice, RatedLine, RatingInput } from "../rating.ts";
import { type PlainInvoice, rateHourByHour } from "./hour-by-hour.ts";

/** Everything that must hold for every invoice; returns each violation by name. */
export function faultsOfInvoice(input: RatingInput, invoice: RatedInvoice): string[] {
  const plain = rateHourByHour(input);
  return [
    ...faultsOfSums(invoice),
    ...faultsOfHours(plain, invoice),
    ...faultsOfCredits(input, invoice),
    ...faultsAgainst(plain, invoice),
  ];
}

const total = (lines: readonly RatedLine[], column: "amount_micros" | "tax_micros" | "total_micros" | "quantity") =>
  lines.reduce((sum, line) => sum + line[column], 0);

function faultsOfSums({ lines, subtotal_micros, tax_micros, total_micros, tax_summary }: RatedInvoice): string[] {
  const all = lines.flatMap((line) => [line.amount_micros, line.tax_micros, line.total_micros]);
  const isOff = [
    total(lines, "amount_micros") !== subtotal_micros && "items ≠ subtotal",
    total(lines, "tax_micros") !== tax_micros && "taxes of items ≠ tax",
    tax_summary.reduce((sum, each) => sum + each.tax_micros, 0) !== tax_micros && "tax by source ≠ tax",
    subtotal_micros + tax_micros !== total_micros && "subtotal + tax ≠ total",
    lines.some((line) => line.amount_micros + line.tax_micros !== line.total_micros) && "amount + tax ≠ total of item",
    all.some((micros) => micros % 10_000 !== 0) && "not in whole cents",
  ];
  return isOff.filter((fault) => fault !== false);
}

function faultsOfHours({ hours }: PlainInvoice, { lines }: RatedInvoice): string[] {
  return [...hours].flatMap(([id, seen]) => {
    const own = lines.filter(({ resource_id }) => resource_id === id);
    const isApart = own.every(({ from_at }, index) => index === 0 || (own[index - 1] as RatedLine).to_at <= from_at);
    const isWhole = own.every((line) => line.to_at.getTime() - line.from_at.getTime() === line.quantity * 3_600_000);
    const cap = wholeCents(Math.max(0, ...seen.map((hour) => hour.cap)));
    const isOff = [
      total(own, "quantity") !== seen.length && `${total(own, "quantity")} hours, and ${seen.length} were seen`,
      !(isApart && isWhole) && "an hour is metered twice",
      total(own, "amount_micros") > cap && "the price of a month is passed",
    ];
    return isOff.filter((fault) => fault !== false).map((fault) => `resource ${id}: ${fault}`);
  });
}

function faultsOfCredits({ credits }: RatingInput, { lines }: RatedInvoice): string[] {
  const creditLines = lines.filter(({ credit_id }) => credit_id !== null);
  const owed = total(lines, "amount_micros") - total(creditLines, "amount_micros");
  const isOver = credits.some(({ id, credit_micros, used_micros, monthly_cap_micros }) => {
    const taken = -total(
      creditLines.filter(({ credit_id }) => credit_id === id),
      "amount_micros",
    );
    return taken < 0 || taken > monthly_cap_micros || taken > Math.max(0, credit_micros - used_micros);
  });
  const isGift = -total(creditLines, "amount_micros") > Math.max(0, owed);
  return [...(isOver ? ["a promotion gives more than it has"] : []), ...(isGift ? ["more is given than is owed"] : [])];
}

function faultsAgainst(plain: PlainInvoice, invoice: RatedInvoice): string[] {
  const ours = invoice.lines.map((line) => ({
    what:
      line.resource_id !== null
        ? `resource ${line.resource_id}`
        : line.adjustment_id !== null
          ? `adjustment ${line.adjustment_id}`
          : `promotion ${line.credit_id}`,
    from: line.from_at.getTime(),
    hours: line.resource_id === null ? 0 : line.quantity,
    cents: BigInt(line.amount_micros / 10_000),
    tax: BigInt(line.tax_micros / 10_000),
  }));
  const theirs = plain.lines.map(({ taxes, ...line }) => ({ ...line, tax: taxes.reduce((sum, tax) => sum + tax, 0n) }));
  return isDeepStrictEqual(ours, theirs) ? [] : ["not what was counted hour by hour"];
}
