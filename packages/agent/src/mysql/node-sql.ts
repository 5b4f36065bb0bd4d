import { lstat } from "node:fs/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import { type Connection, type ConnectionOptions, createConnection } from "mysql2/promise";
import { despiteLocks, limitLockWaits } from "./despite-locks.ts";
import { openSocket } from "./open-socket.ts";

/** A lock that a tenant holds keeps the agent waiting for so long at most: work that waits holds a place of the host. */
const lockWaitSeconds = 30;

/** Root through the node's socket: the server authenticates the caller by its user id, so no password exists. */
export async function connect(socket: string, options: ConnectionOptions = {}): Promise<Connection> {
  const opened = await openSocket(socket);
  try {
    const connection = await createConnection({
      connectTimeout: 5000,
      ...options,
      socketPath: opened.path,
      user: "root",
      authPlugins: { auth_socket: () => () => Buffer.alloc(0) },
    });
    await limitLockWaits(connection, lockWaitSeconds).catch((error: unknown) => {
      connection.destroy();
      throw error;
    });
    return connection;
  } finally {
    await opened.close();
  }
}

export async function withRoot<T>(
  socket: string,
  work: (connection: Connection) => Promise<T>,
  options: ConnectionOptions = {},
): Promise<T> {
  const connection = await connect(socket, options);
  try {
    return await work(connection);
  } finally {
    connection.destroy();
  }
}

/**
 * On abort, KILL QUERY makes the server itself end the statement, so that nothing is written after this returns.
 * Closing the connection is not enough: the driver never settles a query whose connection was destroyed. A server that
 * cannot be reached for the KILL has ended, or is about to be stopped.
 */
export async function runAbortable<T>(
  socket: string,
  { threadId }: Connection,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const killFailure = Promise.withResolvers<never>();
  const end = (): void => {
    withRoot(socket, (other) => other.query("KILL QUERY ?", [threadId])).catch(killFailure.reject);
  };
  signal.throwIfAborted();
  signal.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([work(), killFailure.promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** The server answered with an error; after any other error it is unknown what the server did. */
export const isAnswer = (error: unknown): error is Error & { sqlState: string } =>
  error instanceof Error && typeof (error as { sqlState?: unknown }).sqlState === "string";

/** The engine's error for a clone of data that are being cloned already: it makes one copy at a time. */
export const copyUnderWay = 3634;

const query = (socket: string): Promise<unknown> =>
  withRoot(socket, (connection) => connection.query({ sql: "SELECT 1", timeout: 5000 }));

export const answers = (socket: string): Promise<boolean> =>
  query(socket).then(
    () => true,
    () => false,
  );

/** A server that refuses, such as one without a free connection, is alive. */
export const isAlive = (socket: string): Promise<boolean> => query(socket).then(() => true, isAnswer);

/**
 * Not in the binary log: a restored log must not undo it. Whoever knows the former password cannot prevent the new one
 * by a lock.
 */
export const setAdminPassword = (socket: string, { username }: NodeSpec["credentials"], password: string) =>
  withRoot(socket, async (connection) => {
    await connection.query("SET SESSION sql_log_bin = 0");
    const change = "ALTER USER ?@'%' IDENTIFIED WITH caching_sha2_password BY ? ACCOUNT UNLOCK";
    await despiteLocks(connection, () => connection.query(change, [username, password]));
  });

/** All or nothing: if the files are unusable, the server keeps the old ones and returns an error. */
export const reloadTls = (socket: string) =>
  withRoot(socket, async (connection) => {
    await connection.query("ALTER INSTANCE RELOAD TLS");
  });

/** Changes with each start of a server, which recreates its socket. */
export async function serverStart(socket: string): Promise<string> {
  const { ino, mtimeNs } = await lstat(socket, { bigint: true });
  return `${ino}-${mtimeNs}`;
}
