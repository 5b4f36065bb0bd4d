/** The worker's bundle: every workflow by name, which for most equals `operations.kind`. */
export { closeMonth } from "./billing/workflows/close-month.ts";
export { backUpDatabase } from "./databases/workflows/back-up-database.ts";
export { deleteDatabase } from "./databases/workflows/delete-database.ts";
export { forkDatabase } from "./databases/workflows/fork-database.ts";
export { bootstrapGroup } from "./databases/workflows/bootstrap-group.ts";
/** The workflow of every change of columns: Temporal runs it for a name that has no workflow of its own. */
export { followChange as default } from "./databases/workflows/follow-change.ts";
export { provisionDatabase } from "./databases/workflows/provision-database.ts";
export { replaceNode } from "./databases/workflows/replace-node.ts";
export { restoreDatabase } from "./databases/workflows/restore-database.ts";
export { switchOver } from "./databases/workflows/switch-primary.ts";
export { captureImage } from "./images/workflows/capture-image.ts";
export { importImage } from "./images/workflows/import-image.ts";
export { moveEntities } from "./transfers/workflows/move-entities.ts";
