export { type FilterColumns, orderOf, whereOf } from "./filter-sql.ts";
export type { Filter } from "./condition.ts";
export { readFilter } from "./read-filter.ts";
