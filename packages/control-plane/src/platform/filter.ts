export { type FilterColumns, orderOf, whereOf } from "./filter/filter-sql.ts";
export type { Filter } from "./filter/condition.ts";
export { readFilter } from "./filter/read-filter.ts";
