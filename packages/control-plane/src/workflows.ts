/** What the worker bundles: every workflow, by its name, which for most is in `operations.kind`. */
export { invoiceAccounts } from "./billing/workflows/invoice-accounts.ts";
export { backUpDatabase } from "./databases/workflows/back-up-database.ts";
export { deleteDatabase } from "./databases/workflows/delete-database.ts";
export { forkDatabase } from "./databases/workflows/fork-database.ts";
export { patchDatabase } from "./databases/workflows/patch-database.ts";
export { provisionDatabase } from "./databases/workflows/provision-database.ts";
export { resetCredentials } from "./databases/workflows/reset-credentials.ts";
export { resizeDatabase } from "./databases/workflows/resize-database.ts";
export { restoreDatabase } from "./databases/workflows/restore-database.ts";
export { resumeDatabase } from "./databases/workflows/resume-database.ts";
export { suspendDatabase } from "./databases/workflows/suspend-database.ts";
export { updateDatabase } from "./databases/workflows/update-database.ts";
export { captureImage } from "./images/workflows/capture-image.ts";
export { importImage } from "./images/workflows/import-image.ts";
export { moveEntities } from "./transfers/workflows/move-entities.ts";
