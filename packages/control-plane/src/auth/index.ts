export { createAuthorizationServer, type AuthorizationServerDeps } from "./authorization-server.ts";
export type { CommandLineLogin, Interaction, Interactions, Person, Proof } from "./interactions.ts";
export type { ErrorText, Pages } from "./pages.ts";
export { endSessions } from "./sessions.ts";
