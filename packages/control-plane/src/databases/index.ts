export { createDatabaseActivities, createDatabaseExpiry, createReleaseChore } from "./activities.ts";
export { createSecretsOf } from "./credentials.ts";
export { createNameActivities, createNamesChore } from "./name-activities.ts";
export { hasDatabase } from "./database-store.ts";
export { emptyRecovery, type Recovery, recoverHost } from "./recover-databases.ts";
export { apiSteps, type DatabaseRouteDeps, databaseRoutes } from "./routes.ts";
