import { sql } from "kysely";
import { type SealedColumn, sealedColumn } from "#platform/db/sealed-column.ts";

type Person = { accountId: number; userId: number };

/** The offered and the confirmed secret are sealed alike: confirming moves the sealed text unchanged. */
export const tfaSecretPlace = ({ accountId, userId }: Person) => ["users", "tfa_secret", accountId, userId] as const;

export const sealedByIdentity: readonly SealedColumn[] = [
  sealedColumn({
    table: "users",
    column: "tfa_secret",
    key: ["account_id", "id"],
    placeOf: ({ account_id, id }) => tfaSecretPlace({ accountId: account_id, userId: id }),
    write: (given) => sql`update users set tfa_secret = ${given}`,
  }),
  sealedColumn({
    table: "users",
    column: "tfa_offered_secret",
    key: ["account_id", "id"],
    placeOf: ({ account_id, id }) => tfaSecretPlace({ accountId: account_id, userId: id }),
    write: (given) => sql`update users set tfa_offered_secret = ${given}`,
  }),
];
