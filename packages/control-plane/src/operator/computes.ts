import { Id, toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { type ImageSettings, type KeptDisks, keepDisks } from "#images/index.ts";
import {
  type ComputeToShow,
  type DiskRow,
  findComputeToShow,
  listComputesToShow,
  listDisks,
  lockCompute,
  LONGEST_LABEL,
  markDiskDeleted,
  removeCompute,
  saveCompute,
  saveDisk,
} from "#inventory/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { readPage, toPage } from "#platform/http/page.ts";
import { findPlan } from "#regions/index.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { Amount, Name, Nothing } from "./fields.ts";
import { requireRegion } from "./hosts.ts";
import { texts } from "./texts.ts";

const LABEL = `1 to ${LONGEST_LABEL} letters, digits, dots, dashes or underscores`;
const Label = z.string({ error: LABEL }).regex(new RegExp(`^[\\w.-]{1,${LONGEST_LABEL}}$`), LABEL);
const Compute = z.object({
  label: Label,
  region: Name,
  plan: Name.optional(),
  host: Name.optional(),
});
const Disk = z.object({
  label: z.string().min(1).max(LONGEST_LABEL),
  size_mb: Amount,
  filesystem: z.enum(["raw", "swap", "ext3", "ext4", "initrd"]),
  device: z.string().startsWith("/", "the path of a block device or a file on its host").max(4096),
});

const Removal = z.object({ image: z.boolean().default(true) });

const COMPUTES = "/admin/computes";
const COMPUTE = `${COMPUTES}/:id` as const;
type OfCompute = { Params: { id: string } };

export type ComputeCommandDeps = CommandDeps & { images: ImageSettings };

/** Instances that run elsewhere and are registered here: their owner, host and disks. */
export function computeCommands(app: FastifyInstance, deps: ComputeCommandDeps): void {
  const { db, clock, images } = deps;

  app.get<{ Querystring: { account?: string } }>(COMPUTES, async ({ query }) => {
    const account = query.account === undefined ? undefined : await findAccount(db, query.account);
    const page = readPage(query);
    const { rows, results } = await listComputesToShow(db, page, account?.id);
    return toPage(page, results, rows.map(viewOf));
  });

  app.get<OfCompute>(COMPUTE, async ({ params }) => showCompute(db, idOf(params.id)));

  command(app, deps, { path: "/admin/accounts/:id/computes", body: Compute }, async (tx, compute, { id }) => {
    const { id: accountId } = await findAccount(tx, id);
    await requireRegion(tx, compute.region);
    const { label, region, plan } = compute;
    if (plan !== undefined) await requirePlan(tx, plan);
    const hostId = compute.host === undefined ? undefined : await requireHost(tx, compute.host, region);
    const saved = await saveCompute(tx, { accountId, label, region, plan, hostId }, clock());
    return showCompute(tx, saved.id);
  });

  // Removing an instance ends the grants on it. Its disks become images, which its account keeps for some days.
  const removal = { path: `${COMPUTE}/remove`, body: Removal, notifies: ["identity", "relay", "host"] } as const;
  command(app, deps, removal, async (tx, { image }, { id }) => {
    const at = clock();
    const { compute, disks } = (await removeCompute(tx, idOf(id), at)) ?? missing(id);
    const kept = await keepDisks(tx, images, { compute, disks: image ? disks : [], at });
    return { id: compute.id, account: compute.account_id, label: compute.label, ...viewOfKept(kept) };
  });

  app.get<OfCompute>(`${COMPUTE}/disks`, async ({ params }) => {
    const { disks } = await showCompute(db, idOf(params.id));
    return { data: disks };
  });

  command(app, deps, { path: `${COMPUTE}/disks`, body: Disk }, async (tx, disk, { id }) => {
    const compute = (await lockCompute(tx, idOf(id))) ?? missing(id);
    return viewOfDisk(await saveDisk(tx, compute, disk, clock()));
  });

  command(app, deps, { path: "/admin/disks/:id/remove", body: Nothing }, async (tx, _, { id }) => {
    const removed = await markDiskDeleted(tx, idOf(id), clock());
    if (removed === undefined) throw new DomainError("not-found", { reason: texts.diskUnknown({ id }) });
    return viewOfDisk(removed);
  });
}

export const idOf = (text: string | undefined): number => Id.safeParse(text).data ?? 0;

export const missing = (id: number | string | undefined): never => {
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

const viewOf = ({ created_at, updated_at, ...compute }: ComputeToShow) => ({
  ...compute,
  created: toTimestamp(created_at),
  updated: toTimestamp(updated_at),
});

const viewOfKept = ({ images, not_kept }: KeptDisks) => ({
  images: images.map(({ expiry, ...image }) => ({ ...image, expiry: toTimestamp(expiry) })),
  not_kept,
});

const viewOfDisk = ({ id, compute_id, label, size_mb, filesystem, device }: DiskRow) => ({
  id,
  compute: compute_id,
  label,
  size_mb,
  filesystem,
  device,
});
