import { sql } from "kysely";
import { type ArchiveSettings, emptyRecovery, type Recovery, recoverHost } from "#databases/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { DomainError } from "#platform/errors.ts";
import type { Sealer } from "#platform/seal.ts";
import { texts } from "./texts.ts";

export type RecoverDeps = {
  db: Db;
  clock: Clock;
  sealer: Sealer;
  zone: string;
  archive: ArchiveSettings;
  undeleteDays: number;
};

/** More ids than can have been assigned since any backup. */
const SEQUENCE_JUMP = 1_000_000;

/**
 * For a control plane whose database was restored from a backup: raises the epoch, so that hosts accept new specs as
 * newer than what they know; skips ids that were assigned and lost; requests a digest from every host; and reconciles
 * rows with hosts. Changes are refused until it is done. Repeatable.
 */
export async function recover(
  deps: RecoverDeps,
  options: { wait_seconds: number; without: string[] },
): Promise<Recovery & { epoch: number; hosts: number }> {
  const epoch = await startRecovery(deps);
  const hosts = await digestsOf(deps, epoch, options);
  const found = emptyRecovery();
  for (const host of hosts) {
    await deps.db.transaction().execute(async (tx) => {
      const digest = await tx
        .selectFrom("host_digests")
        .select("nodes")
        .where("host_id", "=", host.id)
        .where("epoch", "=", epoch)
        .executeTakeFirstOrThrow();
      const { sealer, zone, archive, undeleteDays } = deps;
      const settings = { sealer, zone, archive, undeleteDays };
      await recoverHost({ tx, ...settings, epoch, now: deps.clock(), found }, host.id, digest.nodes);
    });
  }
  await end(deps, epoch, found);
  return { epoch, hosts: hosts.length, ...found };
}

const startRecovery = ({ db, clock }: RecoverDeps): Promise<number> =>
  db.transaction().execute(async (tx) => {
    const installation = await tx.selectFrom("installation").selectAll().forUpdate().executeTakeFirstOrThrow();
    if (installation.recovery_epoch !== null) return installation.recovery_epoch;
    const { highest } = await tx
      .selectFrom("host_leases")
      .select((query) => query.fn.coalesce(query.fn.max("agent_epoch"), query.val(0)).as("highest"))
      .executeTakeFirstOrThrow();
    const epoch = Math.max(installation.epoch, highest) + 1;
    await tx
      .updateTable("installation")
      .set({ epoch, recovery_epoch: epoch, set_back_at: installation.set_back_at ?? clock() })
      .execute();
    await sql`select setval(format('%I.%I', schemaname, sequencename), coalesce(last_value, 1) + ${SEQUENCE_JUMP})
      from pg_sequences where schemaname = current_schema()`.execute(tx);
    await audit(tx, { at: clock(), account: null, actor: "operator", action: "recover", target: `epoch/${epoch}` });
    return epoch;
  });

/** Waits for the digest of every host. An excluded host is not touched, and can be recovered later. */
async function digestsOf(deps: RecoverDeps, epoch: number, options: { wait_seconds: number; without: string[] }) {
  const until = Date.now() + options.wait_seconds * 1000;
  for (;;) {
    await notify(deps.db, "host");
    const hosts = await deps.db
      .selectFrom("hosts")
      .select(["id", "name", "digest_epoch"])
      .where("state", "in", ["active", "drained"])
      .orderBy("id")
      .execute();
    const expected = hosts.filter(({ name }) => !options.without.includes(name));
    const silent = expected.filter(({ digest_epoch }) => digest_epoch < epoch);
    if (silent.length === 0) return expected;
    if (Date.now() >= until)
      throw new DomainError("unavailable", {
        reason: texts.digestsMissing({ hosts: silent.map(({ name }) => name) }),
      });
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function end({ db, clock }: RecoverDeps, epoch: number, found: Recovery): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .updateTable("installation")
      .set({
        set_back_at: null,
        recovery_epoch: null,
        fingerprint: sql`current_fingerprint()`,
        unproven_since: null,
      })
      .where("recovery_epoch", "=", epoch)
      .execute();
    await audit(tx, {
      at: clock(),
      account: null,
      actor: "operator",
      action: "recovered",
      target: `epoch/${epoch}`,
      detail: found,
    });
  });
  await notify(db, "host");
}
