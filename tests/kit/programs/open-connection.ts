import { readFileSync } from "node:fs";
import { type Connection, type ConnectionOptions, createConnection } from "mysql2/promise";
import type { Door } from "../client.ts";

/** Connects as a tenant's program does: by hostname, and verifies the server. */
export function openConnection(input: string, more: ConnectionOptions = {}): Promise<Connection> {
  const { name, port, username, password, ca } = JSON.parse(input) as Door;
  return createConnection({
    host: name,
    port,
    user: username,
    password,
    connectTimeout: 60_000,
    ssl: { ca: readFileSync(ca), rejectUnauthorized: true, verifyIdentity: true },
    ...more,
  });
}
