export { createDatabaseActivities, createDatabaseExpiry, createReleaseChore } from "./activities.ts";
export { createSecretsOf } from "./credentials.ts";
export { emptyRecovery, type Recovery, recoverHost } from "./recover-databases.ts";
export { apiSteps, type DatabaseRouteDeps, databaseRoutes } from "./routes.ts";
