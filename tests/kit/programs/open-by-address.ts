import { connect } from "node:net";
import type { Connection } from "mysql2/promise";
import { openConnection } from "./open-connection.ts";

const PATIENCE_MS = 1500;

/** Through the gate at this address, and sure of the database's name all the same. */
export async function openByAddress(input: string, address: string | undefined, port: number): Promise<Connection> {
  const connection = await openConnection(input, {
    port,
    connectTimeout: PATIENCE_MS,
    ...(address === undefined ? {} : { stream: () => connect({ host: address, port }).setNoDelay(true) }),
  });
  // Told by the statement that meets it, too.
  connection.on("error", () => {});
  return connection;
}
