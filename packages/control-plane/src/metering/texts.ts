import { defineTexts, text } from "@moorage/contract/texts";

/** For the operator, who sets prices. */
export const texts = defineTexts("billing", {
  firstPriceWithFrom: text(
    () => "from is not allowed for a plan's first price: the first price applies from the plan's beginning.",
  ),
  /** These complete "<field> must be a valid value: …". */
  priceTooEarly: text(({ earliest }: { earliest: string }) => `a full hour, ${earliest} or later`, {
    earliest: "2027-01-05T11:00:00.000Z",
  }),
  monthlyPriceTooLow: text(() => "at least the hourly price"),
  suspendedMonthlyPriceTooLow: text(() => "at least the hourly price of a suspended database"),
});
