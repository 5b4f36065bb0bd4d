import type * as contract from "@moorage/contract/operator";
import { type ArchiveSettings, emptyRecovery, type Recovery, recoverHost } from "#databases/index.ts";
import { endRecovery, needsRecovery, openRecovery, provenDigest, startRecovery } from "#fleet/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
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

type Options = { wait_seconds: number; without: string[]; plan: boolean };
type Host = { id: number; name: string };

/**
 * For a control plane whose database was restored from a backup: raises the epoch, so that hosts accept new specs as
 * newer than what they know; skips ids that were assigned and lost; requests a digest from every host; and reconciles
 * rows with hosts. Changes are refused until it is done. Repeatable.
 */
export async function recover(deps: RecoverDeps, options: Options): Promise<contract.Recovery> {
  const { plan } = options;
  const epoch = await start(deps, plan);
  const hosts = await digestsOf(deps, epoch, options);
  const found = emptyRecovery();
  if (plan) await tryOut(deps, epoch, hosts, found);
  else {
    for (const host of hosts) await deps.db.transaction().execute((tx) => reconcile(deps, { tx, epoch, found }, host));
    await end(deps, epoch, hosts, found);
  }
  return { plan, epoch, hosts: hosts.length, ...found };
}

/** All hosts in one transaction, which is not committed. */
async function tryOut(deps: RecoverDeps, epoch: number, hosts: readonly Host[], found: Recovery): Promise<void> {
  const tx = await deps.db.startTransaction().execute();
  try {
    for (const host of hosts) await reconcile(deps, { tx, epoch, found }, host);
  } finally {
    await tx.rollback().execute();
  }
}

/** A host counts only with what it was sent: its other claims are named, and ignored. */
async function reconcile(
  { sealer, zone, archive, undeleteDays, clock }: RecoverDeps,
  { tx, epoch, found }: { tx: Tx; epoch: number; found: Recovery },
  host: Host,
): Promise<void> {
  const digest = await tx
    .selectFrom("host_digests")
    .select("nodes")
    .where("host_id", "=", host.id)
    .where("epoch", "=", epoch)
    .executeTakeFirstOrThrow();
  const { reports, refused } = provenDigest(sealer, host.id, digest.nodes);
  found.refused.push(...refused.map((node) => `${node} (host ${host.name})`));
  await recoverHost({ tx, sealer, zone, archive, undeleteDays, epoch, now: clock(), found }, host.id, reports);
}

const start = ({ db, clock }: RecoverDeps, plan: boolean): Promise<number> =>
  db.transaction().execute(async (tx) => {
    const installation = await tx.selectFrom("installation").selectAll().forUpdate().executeTakeFirstOrThrow();
    const open = await openRecovery(tx);
    if (open !== undefined) return open;
    // It would refuse changes of tenants for nothing.
    if (plan && !(await needsRecovery(tx))) throw new DomainError("wrong-state", { reason: texts.recoveryNotNeeded() });
    const { highest } = await tx
      .selectFrom("host_leases")
      .select((query) => query.fn.coalesce(query.fn.max("agent_epoch"), query.val(0)).as("highest"))
      .executeTakeFirstOrThrow();
    const epoch = Math.max(installation.epoch, highest) + 1;
    await startRecovery(tx, epoch, installation.set_back_at ?? clock());
    await audit(tx, { at: clock(), account: null, actor: "operator", action: "recover", target: `epoch/${epoch}` });
    return epoch;
  });

/** Waits for the digest of every host. An excluded host is not touched, and can be recovered later. */
async function digestsOf(deps: RecoverDeps, epoch: number, options: Omit<Options, "plan">): Promise<Host[]> {
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

async function end(
  { db, clock }: RecoverDeps,
  epoch: number,
  hosts: readonly { id: number }[],
  found: Recovery,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await endRecovery(
      tx,
      epoch,
      hosts.map(({ id }) => id),
      clock(),
    );
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
