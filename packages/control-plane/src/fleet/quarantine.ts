import { audit } from "#platform/db/audit.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import type { HostRow } from "./host-store.ts";
import { texts } from "./texts.ts";

/**
 * The host claims a later state than ours, and cannot show that we sent it. Only this host is affected: its databases
 * accept no changes and it gets neither specs nor secrets, until a recovery has compared it or it enrols a new key.
 */
export const quarantine = (
  db: Db,
  hostId: number,
  { epoch, revision, generation, node }: { epoch: number; revision?: number; generation?: number; node?: string },
  now: Date,
): Promise<void> =>
  transact(db, "fleet.quarantine", async (tx) => {
    const host = await tx
      .updateTable("hosts")
      .set({ quarantined_at: now, proven_fingerprint: "" })
      .where("id", "=", hostId)
      .where("quarantined_at", "is", null)
      .returning("id")
      .executeTakeFirst();
    if (host === undefined) return;
    await audit(tx, {
      at: now,
      account: null,
      actor: `host-${hostId}`,
      action: "quarantine_host",
      target: `host/${hostId}`,
      detail: { epoch, revision, generation, node },
    });
  });

export function requireTrusted({ quarantined_at }: HostRow): void {
  if (quarantined_at !== null) throw new DomainError("forbidden", { reason: texts.quarantined() });
}
