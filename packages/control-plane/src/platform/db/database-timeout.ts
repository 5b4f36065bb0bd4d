/** QUERY_CANCELED and LOCK_NOT_AVAILABLE. */
const timeoutCodes = new Set<unknown>(["57014", "55P03"]);
/** The library gives this error no code. */
const NO_CONNECTION = "timeout exceeded when trying to connect";

/**
 * Whether a statement met one of the timeouts of its connection, or got no connection in time. Also for processes
 * without a database, which do not load its library.
 */
export const isDatabaseTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.message === NO_CONNECTION || ("code" in error && timeoutCodes.has(error.code)));
