import type { Tx } from "./db/database.ts";

export type AuditLine = {
  at: Date;
  account: number | null;
  actor: string;
  action: string;
  target: string;
  detail?: object;
};

export async function audit(tx: Tx, line: AuditLine): Promise<void> {
  await tx
    .insertInto("audit")
    .values({
      at: line.at,
      account_id: line.account,
      actor: line.actor,
      action: line.action,
      target: line.target,
      detail: JSON.stringify(line.detail ?? {}),
    })
    .execute();
}
