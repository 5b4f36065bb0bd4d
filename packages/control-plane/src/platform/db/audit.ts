import { type RawBuilder, sql } from "kysely";
import type { Tx } from "./database.ts";

export type AuditLine = {
  at: Date;
  account: number | null;
  actor: string;
  action: string;
  target: string;
  detail?: object;
};

export async function audit(tx: Tx, line: AuditLine): Promise<void> {
  await auditing({ ...line, detail: JSON.stringify(line.detail ?? {}) }).execute(tx);
}

/** The part of a statement that writes an audit entry, or one for each row of another part if given. */
export const auditing = (
  line: Omit<AuditLine, "detail"> & { detail: string },
  from: RawBuilder<unknown> = sql``,
) => sql`
  insert into audit (at, account_id, actor, action, target, detail)
  select ${line.at}::timestamptz, ${line.account}::bigint, ${line.actor}::text, ${line.action}::text,
    ${line.target}::text, ${line.detail}::jsonb ${from}`;
