import type { Selectable } from "kysely";
import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { notFound } from "#platform/errors.ts";

export type NodeRow = Selectable<Tables["nodes"]>;

/** A node without desired or observed state. */
export const untouched = {
  desired_spec: null,
  waiting_operation_id: null,
  observed_state: null,
  observed_step: null,
  observed_message: null,
  observed_at: null,
  used_disk_mb: null,
  released_at: null,
} as const;

/**
 * The current nodes of a database. A replaced node is not among them; its tombstone removes it, however long that
 * takes.
 */
export const findNodes = (db: Db | Tx, accountId: number, databaseId: number): Promise<NodeRow[]> =>
  db
    .selectFrom("nodes")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("database_id", "=", databaseId)
    .where("released_at", "is", null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("members")
            .select("node_id")
            .whereRef("members.node_id", "=", "nodes.id")
            .where("replaced_at", "is not", null),
        ),
      ),
    )
    .orderBy("ordinal")
    .execute();

/** A node that this host runs. Nodes of other hosts and nodes with a tombstone are not found. */
export const findServedNode = (db: Db | Tx, hostId: number, id: string) =>
  db
    .selectFrom("nodes")
    .select(["id", "account_id", "database_id", "desired_spec"])
    .where("id", "=", id)
    .where("host_id", "=", hostId)
    .where("tombstoned", "=", false)
    .executeTakeFirstOrThrow(notFound);

export const lockNodes = (tx: Tx, ids: readonly string[]): Promise<NodeRow[]> =>
  tx.selectFrom("nodes").selectAll().where("id", "in", ids).orderBy("id").forUpdate().execute();

/** Specs of a host that changed after the given revision. */
export const nodesSince = (db: Db, hostId: number, revision: number): Promise<Pick<NodeRow, "desired_spec">[]> =>
  db
    .selectFrom("nodes")
    .select("desired_spec")
    .where("host_id", "=", hostId)
    .where("desired_revision", ">", revision)
    .where("desired_spec", "is not", null)
    .where("released_at", "is", null)
    .execute();

/**
 * The lowest port that no node of these hosts holds. The hosts are locked, so the port stays free until it is assigned.
 */
export async function freePort(tx: Tx, hostIds: readonly number[]): Promise<number | undefined> {
  const { rows } = await sql<{ port: number }>`
    select port from generate_series(${FIRST_PORT}::int, ${LAST_PORT}::int) port
    where not exists (select from nodes where host_id = any(${hostIds}) and nodes.port = port.port and released_at is null)
    order by port limit 1`.execute(tx);
  return rows[0]?.port;
}

/** The hosts on which a node of any database has this port. */
export const hostsWithPort = async (tx: Tx, port: number): Promise<number[]> => {
  const rows = await tx
    .selectFrom("nodes")
    .select("host_id")
    .where("port", "=", port)
    .where("released_at", "is", null)
    .execute();
  return rows.map(({ host_id }) => host_id);
};

/** Below the ephemeral range, and as many ports as a host's /20 has addresses. */
const FIRST_PORT = 20_000;
const LAST_PORT = 24_093;

/** Each port of a host has its own address in the host's node network and its own user id. */
export const slotOf = (port: number): number => port - FIRST_PORT;
export const uidOf = (port: number): number => 100_000 + slotOf(port);

/** The first address is the network's, the second the host's. */
export function addressOf(nodeNetwork: string, port: number): string {
  const [base = ""] = nodeNetwork.split("/");
  const number = base.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) + slotOf(port) + 2;
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}
