import { sql } from "kysely";
import { type SealedColumn, sealedColumn } from "#platform/db/sealed-column.ts";
import { passwordPlace } from "../model/entity.ts";

/** Binds the sealed archive key to its row: it cannot be opened in another one. */
export const identityPlace = (owner: { account_id: number; id: number }): (string | number)[] => [
  "archives.identity",
  owner.account_id,
  owner.id,
];

/** Binds a node's sealed keys to their row: they cannot be opened in another one. */
export const keyringPlace = (accountId: number, nodeId: string): (string | number)[] => [
  "keyrings.keyring",
  accountId,
  nodeId,
];

export const sealedByDatabases: readonly SealedColumn[] = [
  sealedColumn({
    table: "databases",
    column: "admin_password",
    key: ["account_id", "id"],
    placeOf: ({ account_id, id }) => passwordPlace(account_id, id),
    write: (given) => sql`update databases set admin_password = ${given}`,
  }),
  sealedColumn({
    table: "archives",
    column: "identity",
    key: ["account_id", "database_id"],
    placeOf: ({ account_id, database_id: id }) => identityPlace({ account_id, id }),
    write: (given) => sql`update archives set identity = ${given}`,
  }),
  sealedColumn({
    table: "keyrings",
    column: "keyring",
    key: ["node_id"],
    also: ["account_id"],
    placeOf: ({ account_id, node_id }) => keyringPlace(account_id, node_id),
    write: (given) => sql`update keyrings set keyring = ${given}`,
  }),
];
