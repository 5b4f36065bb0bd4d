/** For other capabilities. The server is a process of its own, and only that one loads `oidc-provider`: see auth.ts. */
export { revokeAllAppGrants, revokeAppGrant } from "./app-grant-store.ts";
export type { CommandLineLogin, Interaction, Interactions, Person, Proof } from "./interactions.ts";
export type { ErrorText, Pages } from "./pages.ts";
export { dropOlderRecords, rewriteSealedRecord, saveSealedRecord, takeSealedRecord } from "./record-store.ts";
export { recordPlace, sealedByAuth } from "./sealed-columns.ts";
export { dropAllRecords, endSessions } from "./sessions.ts";
