/** QUERY_CANCELED and LOCK_NOT_AVAILABLE. */
const timeoutCodes = new Set<unknown>(["57014", "55P03"]);
/** The library gives these errors no code: no connection became free in time, or a new one was not open in time. */
const noConnection = new Set([
  "timeout exceeded when trying to connect",
  "Connection terminated due to connection timeout",
]);

/**
 * Whether a statement met one of the timeouts of its connection, or got no connection in time. Also for processes
 * without a database, which do not load its library.
 */
export const isDatabaseTimeout = (error: unknown): boolean =>
  error instanceof Error && (noConnection.has(error.message) || ("code" in error && timeoutCodes.has(error.code)));
