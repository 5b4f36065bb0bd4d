import { Id } from "@moorage/contract";
import { DeletionAllowance } from "@moorage/contract/agent";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import { z } from "zod";
import { declareDead, type NewHost, registerHost } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { findRegion, listRegions } from "#regions/index.ts";
import { command, type CommandDeps } from "./command.ts";
import { Amount, Name } from "./fields.ts";
import { listHosts } from "./host-list.ts";
import { texts } from "./texts.ts";

const Host = z.object({
  name: Name,
  region: Name,
  failure_domain: Name,
  address: z.ipv4(),
  address6: z.ipv6().optional(),
  private_address: z.ipv4().optional(),
  node_network: z.cidrv4().endsWith("/20", "a /20: one address for each port of the host"),
  memory_mb: Amount,
  disk_mb: Amount,
  vcpus: z.number().positive(),
});

export function hostCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get("/admin/hosts", async () => ({ data: await listHosts(db, clock()) }));

  command(app, deps, { path: "/admin/hosts", body: Host }, async (tx, host) => {
    await requireRegion(tx, host.region);
    await requireFreeAddresses(tx, host);
    return registerHost(tx, host, clock());
  });

  const allow = { path: "/admin/hosts/:id/allowance", body: DeletionAllowance, notifies: "host" } as const;
  command(app, deps, allow, async (tx, allowance, { id }) => {
    const host = Id.safeParse(id).data ?? 0;
    if (allowance.host !== host) throw invalid("host", texts.hostNotOfPath({ id }));
    const saved = await tx
      .updateTable("hosts")
      .set({ deletion_allowance: JSON.stringify(allowance) })
      .where("id", "=", host)
      .returning("id")
      .executeTakeFirst();
    if (saved === undefined) throw new DomainError("not-found", { reason: texts.hostUnknown({ id }) });
    return allowance;
  });

  const dead = { path: "/admin/hosts/:name/dead", body: z.object({}) } as const;
  command(app, deps, dead, async (tx, _body, { name = "" }) => declareDead(tx, name, clock()));
}

export async function requireRegion(tx: Tx, id: string): Promise<void> {
  if ((await findRegion(tx, id)) !== undefined) return;
  const known = (await listRegions(tx)).map((region) => region.id);
  throw invalid("region", known.length > 0 ? texts.regionInvalid({ known }) : texts.noRegions());
}

const addresses = ["address", "address6", "private_address", "node_network"] as const;

async function requireFreeAddresses(tx: Tx, host: NewHost): Promise<void> {
  const own = addresses.filter((field) => host[field] !== undefined);
  const taken = await tx
    .selectFrom("hosts")
    .select(["name", ...own.map((field) => sql<boolean>`${sql.ref(field)} = ${host[field]}`.as(field))])
    .where("name", "!=", host.name)
    .where(({ or, eb }) => or(own.map((field) => eb(field, "=", host[field] as string))))
    .executeTakeFirst();
  if (taken === undefined) return;
  const field = own.find((each) => taken[each]) ?? "address";
  throw invalid(field, texts.addressTaken({ host: taken.name }));
}
