import { sql } from "kysely";
import { mayWork } from "#operations/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";

type NewServer = { fingerprint: string; noticed_at: Date; cell: number };

/** The server that runs now, if its charges were not compared with those of the payment provider. */
export const findServerToCompare = async (db: Db): Promise<NewServer | undefined> =>
  (
    await sql<NewServer>`
      select here as fingerprint, noticed_at, cell from installation, current_fingerprint() as here
      where ${mayWork} and charges_fingerprint <> here`.execute(db)
  ).rows[0];

/** From this commit on, charges may be made. */
export const saveChargesCompared = (tx: Tx, { fingerprint }: NewServer): Promise<unknown> =>
  sql`update installation set charges_fingerprint = ${fingerprint}
    where ${mayWork} and current_fingerprint() = ${fingerprint}`.execute(tx);
