import * as contract from "@moorage/contract/operator";
import type { Host } from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import {
  allowDeletions,
  declareDead,
  enrolAgain,
  listSharedCertificates,
  type NewHost,
  registerHost,
  revokeHost,
} from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { findRegion, listRegions } from "#regions/index.ts";
import { command, type CommandDeps, operatorRoute, type Run } from "./operator-route.ts";
import { texts } from "./texts.ts";

/** A larger clock offset is shown as wrong: time decides tokens, windows and restore points. */
const CLOCK_LIMIT_MS = 2_000;

export function hostCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listHosts, async () => ({ data: await listHosts(db, clock()) }));

  command(app, deps, contract.addHost, async (tx, { body }) => {
    await requireRegion(tx, body.region);
    await requireFreeAddresses(tx, body);
    return registerHost(tx, body, clock());
  });

  const allow: Run<typeof contract.allowDeletions> = async (tx, { params: { hostId: id }, body }) => {
    if (body.host !== id) throw invalid("host", texts.hostNotOfPath({ id }));
    const saved = await allowDeletions(tx, id, body);
    if (saved === undefined) throw new DomainError("not-found", { reason: texts.hostUnknown({ id }) });
    return body;
  };
  command(app, deps, contract.allowDeletions, allow, "host");

  // The polls that wait end at once.
  command(app, deps, contract.revokeHost, (tx, { params }) => revokeHost(tx, params.name, clock()), "host");
  command(app, deps, contract.enrolHostAgain, (tx, { params }) => enrolAgain(tx, params.name, clock()), "host");

  command(app, deps, contract.declareHostDead, (tx, { params }) => declareDead(tx, params.name, clock()));
}

/** The operator's overview: reachable hosts, their load, and warnings. */
async function listHosts(db: Db, now: Date): Promise<Host[]> {
  const rows = await db
    .selectFrom("hosts")
    .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
    .selectAll("hosts")
    .select(["seen_at", "agent", "clock_offset_ms", "trash_mb", "unknown"])
    .select(sql<boolean>`proven_fingerprint = (select current_fingerprint())`.as("compared"))
    .orderBy("hosts.id")
    .execute();
  const [held, shared] = [await listHeld(db), await listSharedCertificates(db, now)];
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    region: row.region,
    failure_domain: row.failure_domain,
    address: row.address,
    address6: row.address6,
    private_address: row.private_address,
    state: row.state,
    memory_mb: { total: row.memory_mb, reserved: row.reserved_memory_mb },
    disk_mb: { total: row.disk_mb, reserved: row.reserved_disk_mb, trash: row.trash_mb ?? 0 },
    agent: row.agent,
    silent_seconds:
      row.seen_at === null ? null : Math.max(0, Math.round((now.getTime() - row.seen_at.getTime()) / 1000)),
    compared: row.compared,
    quarantined: row.quarantined_at !== null,
    revoked: row.revoked_at !== null,
    shared_by: shared.get(row.id) ?? [],
    clock_wrong: Math.abs(row.clock_offset_ms ?? 0) > CLOCK_LIMIT_MS,
    unknown: row.unknown ?? [],
    held: (held.get(row.id) ?? []).map(({ id, database_id, observed_message }) => ({
      node: id,
      database: database_id,
      message: observed_message ?? "",
    })),
  }));
}

/** A node that runs as desired has a message only if an earlier timeline of it is held. */
async function listHeld(db: Db) {
  const rows = await db
    .selectFrom("nodes")
    .select(["id", "host_id", "database_id", "observed_message"])
    .where("released_at", "is", null)
    .where(({ or, and, eb }) =>
      or([
        eb("observed_state", "=", "held"),
        and([eb("observed_state", "=", "running"), eb("observed_message", "is not", null)]),
      ]),
    )
    .orderBy("observed_at")
    .orderBy("id")
    .execute();
  return Map.groupBy(rows, ({ host_id }) => host_id);
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
