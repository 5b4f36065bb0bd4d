import pg from "pg";
import { env } from "./stack-env.ts";

pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/** The control plane's rows, read directly. */
export async function query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: env("DATABASE_URL") });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

export type NodeRecord = {
  id: string;
  host: string;
  address: string;
  port: number;
  database_id: number;
  desired: { network: { address: string } };
};

export const nodesOf = (databaseId: number): Promise<NodeRecord[]> =>
  query<NodeRecord>(
    "select nodes.id, hosts.name as host, host(address) as address, port, database_id, desired_spec as desired from nodes join hosts on hosts.id = host_id where database_id = $1 and released_at is null",
    [databaseId],
  );
