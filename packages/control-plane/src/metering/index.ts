export { meter, type UsageFact, type UsageFactRow } from "./meter.ts";
export { listPrices, type PriceBook, type PriceVersion, pricesAt, pricesDuring } from "./price-book.ts";
export { free, keepPrice, type Price, setPrice } from "./set-price.ts";
export { usageOf } from "./usage-facts.ts";
