import { withRoot } from "../mysql/node-sql.ts";

/** As `withRoot`, without the agent's time limit for the login: an agent tries again, a test does not. */
export const withPatientRoot: typeof withRoot = (socket, work, options) =>
  withRoot(socket, work, { ...options, connectTimeout: 120_000 });
