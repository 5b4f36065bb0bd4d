import { sql } from "kysely";
import { type SealedColumn, sealedColumn } from "#platform/db/sealed-column.ts";

export type ClusterSecret = "group_password" | "authority";

/** Binds a sealed secret to its row: it cannot be opened in another one. */
export const clusterSecretPlace = (
  column: ClusterSecret,
  owner: { account_id: number; id: number },
): (string | number)[] => [`clusters.${column}`, owner.account_id, owner.id];

export const derivationPlace = ["installation.derivation_secret"] as const;

export const sealedByFleet: readonly SealedColumn[] = [
  sealedColumn({
    table: "installation",
    column: "derivation_secret",
    key: ["only_row"],
    placeOf: () => derivationPlace,
    write: (given) => sql`update installation set derivation_secret = ${given}`,
  }),
  sealedColumn({
    table: "clusters",
    column: "group_password",
    key: ["database_id"],
    also: ["account_id"],
    placeOf: ({ account_id, database_id: id }) => clusterSecretPlace("group_password", { account_id, id }),
    write: (given) => sql`update clusters set group_password = ${given}`,
  }),
  sealedColumn({
    table: "clusters",
    column: "authority",
    key: ["database_id"],
    also: ["account_id"],
    placeOf: ({ account_id, database_id: id }) => clusterSecretPlace("authority", { account_id, id }),
    write: (given) => sql`update clusters set authority = ${given}`,
  }),
];
