import { connect } from "node:net";
import type { Connection } from "mysql2/promise";
import { openConnection } from "./open-connection.ts";

const PATIENCE_MS = 1500;

/** Connects through the proxy at this address, and still verifies the database's hostname. */
export async function openByAddress(input: string, address: string | undefined, port: number): Promise<Connection> {
  const connection = await openConnection(input, {
    port,
    connectTimeout: PATIENCE_MS,
    ...(address === undefined ? {} : { stream: () => connect({ host: address, port }).setNoDelay(true) }),
  });
  // The statement that fails reports the error too.
  connection.on("error", () => {});
  return connection;
}
