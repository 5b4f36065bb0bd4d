import type { NodeSpec } from "@moorage/contract/agent";
import { type Connection, type ConnectionOptions, createConnection } from "mysql2/promise";

/** Root through the node's socket: the server authenticates the caller by its user id, so no password exists. */
export async function connect(socket: string, options: ConnectionOptions = {}): Promise<Connection> {
  return createConnection({
    connectTimeout: 5000,
    ...options,
    socketPath: socket,
    user: "root",
    authPlugins: { auth_socket: () => () => Buffer.alloc(0) },
  });
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

/** The server answered with an error; after any other error it is unknown what the server did. */
export const isAnswer = (error: unknown): error is Error & { sqlState: string } =>
  error instanceof Error && typeof (error as { sqlState?: unknown }).sqlState === "string";

/** The engine's error for a clone of data that are being cloned already: it makes one copy at a time. */
export const copyUnderWay = 3634;

export const answers = (socket: string): Promise<boolean> =>
  withRoot(socket, async (connection) => {
    await connection.query({ sql: "SELECT 1", timeout: 5000 });
    return true;
  }).catch(() => false);

/** Not in the binary log: a restored log must not undo it. */
export const setAdminPassword = (socket: string, { username }: NodeSpec["credentials"], password: string) =>
  withRoot(socket, async (connection) => {
    await connection.query("SET SESSION sql_log_bin = 0");
    await connection.query("ALTER USER ?@'%' IDENTIFIED WITH caching_sha2_password BY ? ACCOUNT UNLOCK", [
      username,
      password,
    ]);
  });

/** All or nothing: if the files are unusable, the server keeps the old ones and returns an error. */
export const reloadTls = (socket: string) =>
  withRoot(socket, async (connection) => {
    await connection.query("ALTER INSTANCE RELOAD TLS");
  });
