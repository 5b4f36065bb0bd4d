import { toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { type ImageSettings, type KeptDisks, keepDisks } from "#images/index.ts";
import {
  type ComputeToShow,
  type DiskRow,
  findComputeToShow,
  listComputesToShow,
  listDisks,
  lockCompute,
  markDiskDeleted,
  removeCompute,
  saveCompute,
  saveDisk,
} from "#inventory/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { findPlan } from "#regions/index.ts";
import { accountOf, findAccount } from "./account-store.ts";
import { requireRegion } from "./hosts.ts";
import { command, type CommandDeps, operatorRoute, type Run } from "./operator-route.ts";
import { texts } from "./texts.ts";

export type ComputeCommandDeps = CommandDeps & { images: ImageSettings };

/** Instances that run elsewhere and are registered here: their owner, host and disks. */
export function computeCommands(app: FastifyInstance, deps: ComputeCommandDeps): void {
  const { db, clock, images } = deps;

  operatorRoute(app, contract.listComputes, async ({ query, page }) => {
    const { rows, results } = await listComputesToShow(db, page, await accountOf(db, query));
    return toPage(page, results, rows.map(viewOf));
  });

  operatorRoute(app, contract.viewCompute, ({ params }) => showCompute(db, params.computeId));

  command(app, deps, contract.saveCompute, async (tx, { params, body: { label, region, plan, host } }) => {
    const { id: accountId } = await findAccount(tx, params.accountId);
    await requireRegion(tx, region);
    if (plan !== undefined) await requirePlan(tx, plan);
    const hostId = host === undefined ? undefined : await requireHost(tx, host, region);
    const saved = await saveCompute(tx, { accountId, label, region, plan, hostId }, clock());
    return showCompute(tx, saved.id);
  });

  // Removing an instance ends the grants on it. Its disks become images, which its account keeps for some days.
  const remove: Run<typeof contract.removeCompute> = async (tx, { params: { computeId }, body: { image } }) => {
    const at = clock();
    const { compute, disks } = (await removeCompute(tx, computeId, at)) ?? missing(computeId);
    const kept = await keepDisks(tx, images, { compute, disks: image ? disks : [], at });
    return { id: compute.id, account: compute.account_id, label: compute.label, ...viewOfKept(kept) };
  };
  command(app, deps, contract.removeCompute, remove, "identity", "relay", "host");

  operatorRoute(app, contract.listDisks, async ({ params }) => {
    const { disks } = await showCompute(db, params.computeId);
    return { data: disks };
  });

  command(app, deps, contract.saveDisk, async (tx, { params: { computeId }, body }) => {
    const compute = (await lockCompute(tx, computeId)) ?? missing(computeId);
    return viewOfDisk(await saveDisk(tx, compute, body, clock()));
  });

  command(app, deps, contract.removeDisk, async (tx, { params: { diskId: id } }) => {
    const removed = await markDiskDeleted(tx, id, clock());
    if (removed === undefined) throw new DomainError("not-found", { reason: texts.diskUnknown({ id }) });
    return viewOfDisk(removed);
  });
}

export const missing = (id: number): never => {
  throw new DomainError("not-found", { reason: texts.computeUnknown({ id }) });
};

async function showCompute(db: Db | Tx, id: number) {
  const compute = (await findComputeToShow(db, id)) ?? missing(id);
  return { ...viewOf(compute), disks: (await listDisks(db, id)).map(viewOfDisk) };
}

async function requirePlan(tx: Tx, id: string): Promise<void> {
  if ((await findPlan(tx, id)) === undefined) throw invalid("plan", texts.planInvalid({ id }));
}

async function requireHost(tx: Tx, name: string, region: string): Promise<number> {
  const host = await tx.selectFrom("hosts").select(["id", "region"]).where("name", "=", name).executeTakeFirst();
  if (host === undefined) throw invalid("host", texts.hostInvalid({ name }));
  if (host.region !== region) throw invalid("host", texts.hostInOtherRegion({ name, region, actual: host.region }));
  return host.id;
}

const viewOf = ({ created_at, updated_at, ...compute }: ComputeToShow): contract.Compute => ({
  ...compute,
  created: toTimestamp(created_at),
  updated: toTimestamp(updated_at),
});

const viewOfKept = ({ images, not_kept }: KeptDisks) => ({
  images: images.map(({ expiry, ...image }) => ({ ...image, expiry: toTimestamp(expiry) })),
  not_kept,
});

const viewOfDisk = ({ id, compute_id, label, size_mb, filesystem, device }: DiskRow): contract.Disk => ({
  id,
  compute: compute_id,
  label,
  size_mb,
  filesystem,
  device,
});
