export { meter, type UsageFact, type UsageFactRow, usageOf } from "./meter.ts";
export {
  free,
  keepPrice,
  listPrices,
  type Price,
  type PriceBook,
  pricesAt,
  pricesDuring,
  type PriceVersion,
  setPrice,
} from "./price-book.ts";
