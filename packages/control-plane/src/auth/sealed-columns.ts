import { sql } from "kysely";
import { type SealedColumn, sealedColumn } from "#platform/db/sealed-column.ts";

/** Binds a record to its row: a sealed value copied to another row cannot be opened. */
export const recordPlace = (model: string, key: Buffer) => ["auth_records", model, key.toString("hex")] as const;
export const signingKeyPlace = (id: string) => ["signing_keys", id] as const;

export const sealedByAuth: readonly SealedColumn[] = [
  sealedColumn({
    table: "auth_records",
    column: "payload",
    key: ["model", "key_sha256"],
    placeOf: ({ model, key_sha256 }) => recordPlace(model, key_sha256),
    write: (given) => sql`update auth_records set payload = ${given}`,
  }),
  sealedColumn({
    table: "signing_keys",
    column: "jwk",
    key: ["id"],
    placeOf: ({ id }) => signingKeyPlace(id),
    write: (given) => sql`update signing_keys set jwk = ${given}`,
  }),
];
