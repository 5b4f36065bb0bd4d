/** What the worker bundles: every workflow, by the name that is in `operations.kind`. */
export { deleteDatabase } from "./databases/workflows/delete-database.ts";
export { provisionDatabase } from "./databases/workflows/provision-database.ts";
export { updateDatabase } from "./databases/workflows/update-database.ts";
