import { PROTOCOL, type VerifiedRequest } from "@moorage/contract/agent";
import { sql } from "kysely";
import { findServedNode } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { notFound } from "#platform/errors.ts";

/** The worker decides what it means for the tenant. Reported again before that, it stays one alert. */
export const recordVerified = (
  { db, clock }: { db: Db; clock: Clock },
  hostId: number,
  { node, timeline, point, ok, message }: VerifiedRequest,
): Promise<{ protocol: typeof PROTOCOL }> =>
  transact(db, "fleet.verified", async (tx) => {
    const { account_id, database_id } = await findServedNode(tx, hostId, node);
    await tx
      .selectFrom("timelines")
      .select("id")
      .where("id", "=", timeline)
      .where("account_id", "=", account_id)
      .where("database_id", "=", database_id)
      .executeTakeFirstOrThrow(notFound);
    const detail = JSON.stringify({ ok, message, timeline, point });
    await sql`
      insert into node_alerts (account_id, database_id, node_id, kind, detail, at)
      select ${account_id}, ${database_id}, ${node}, 'verification', ${detail}::jsonb, ${clock()}::timestamptz
      where not exists (
        select from node_alerts where node_id = ${node} and kind = 'verification' and detail = ${detail}::jsonb)`.execute(
      tx,
    );
    return { protocol: PROTOCOL };
  });
