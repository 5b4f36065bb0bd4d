import { requireCurrent } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { lockDatabase } from "../../database-store.ts";
import { isCluster } from "../cluster-spec.ts";
import { isAtHand, isHeard, type MemberSeen } from "./cluster-health.ts";
import { openForming } from "./open-mending.ts";
import { mending, seeCluster } from "./see-cluster.ts";

type Asked = { at: Date; deadlineSeconds: number; acceptsLoss: boolean };

const refused = (reason: string): DomainError => new DomainError("wrong-state", { reason });

/**
 * The operator has a group begun that nobody begins by itself. What only a dead host had is lost with it, so that the
 * loss must be accepted; a host that is only silent may still lead a group, so that it must be called dead first.
 */
export async function beginGroup(
  tx: Tx,
  id: number,
  { at, deadlineSeconds, acceptsLoss }: Asked,
): Promise<{ label: string; waits_for: string[] }> {
  const owner = await tx.selectFrom("databases").select("account_id").where("id", "=", id).executeTakeFirst();
  if (owner === undefined) throw new DomainError("not-found", { reason: `No database has the id ${id}.` });
  const database = await lockDatabase(tx, owner.account_id, id);
  if (database.deleted_at !== null || !isCluster(database) || !database.powered)
    throw refused("Only a database of three nodes that runs has a group to begin.");
  await requireCurrent(tx);
  const { members, busy, status } = await seeCluster(tx, database, { now: at });
  if (busy)
    throw refused(`It is being mended already (${Object.keys(mending).join(" or ")}). See it with: moorage db list`);
  if (!isAtHand(status)) throw refused(`It is ${status}: wait until that has ended.`);
  const inGroup = members.find(({ report, host }) => isHeard(host) && report?.state === "online" && report.shared);
  if (inGroup !== undefined) throw refused("Two of its nodes are together: it has a group.");
  requireWord(members, acceptsLoss);
  await openForming(tx, database, acceptsLoss ? { accept_loss: true } : {}, { at, deadlineSeconds });
  const waitsFor = members.filter(({ host }) => !acceptsLoss || !host.dead).map(({ host }) => host.name);
  return { label: database.label, waits_for: waitsFor };
}

function requireWord(members: readonly MemberSeen[], acceptsLoss: boolean): void {
  const missing = members.filter(({ host }) => !isHeard(host));
  const names = missing.map(({ host }) => host.name);
  if (missing.length > 0 && !acceptsLoss)
    throw refused(
      `${names.join(" and ")} cannot say what they have. Bring them back, or add --accept-loss: what only they had is lost then.`,
    );
  const silent = missing.filter(({ host }) => !host.dead).map(({ host }) => host.name);
  if (silent.length > 0)
    throw refused(
      `${silent.join(" and ")} may still run a group of their own. If they are gone for good, say so first: ${silent.map((name) => `moorage host dead ${name}`).join("; ")}`,
    );
}
