import { randomUUID } from "node:crypto";
import { sha256 } from "../../packages/control-plane/src/platform/sha256.ts";
import { hasBackup } from "../../packages/control-plane/src/testing/archive-records.ts";
import type { World } from "../../packages/control-plane/src/testing/world.ts";
import { consent, newClient, type Person } from "./apps.ts";
import { newCompute } from "./money.ts";

/** The smallest possible image. */
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=",
  "base64",
);

export async function clientWithThumbnail(world: World, accountId: number): Promise<string> {
  const id = await newClient(world, accountId);
  const thumbnail = { client_id: id, png: PNG, updated_at: world.time.now };
  await world.db.insertInto("oauth_client_thumbnails").values(thumbnail).execute();
  return id;
}

export async function tokenIdOf(
  world: World,
  person: Person,
  issue: (person: Person) => Promise<string>,
): Promise<number> {
  const token = await issue(person);
  const row = world.db.selectFrom("tokens").select("id").where("sha256", "=", sha256(token));
  return (await row.executeTakeFirstOrThrow()).id;
}

export async function loginOf(world: World, { accountId, userId, username }: Person): Promise<number> {
  const row = world.db
    .insertInto("logins")
    .values({
      at: world.time.now,
      account_id: accountId,
      user_id: userId,
      username,
      restricted: false,
      address: "192.0.2.1",
      status: "successful",
    })
    .returning("id");
  return (await row.executeTakeFirstOrThrow()).id;
}

/** A restore needs a node as its target, so the world needs a host. */
export async function backupOf(world: World, id: number): Promise<string> {
  await world.activities.setDesiredNodes((await world.lastOperation()).id);
  return String((await hasBackup(world, { id })).id);
}

let ports = 24_093;
/** None that the control plane has chosen for another database of the host. */
async function freePorts({ db }: World, hostId: number, count: number): Promise<number[]> {
  const found = await db
    .selectFrom("nodes")
    .select("port")
    .where("host_id", "=", hostId)
    .where("released_at", "is", null)
    .execute();
  const used = new Set(found.map(({ port }) => port));
  const free: number[] = [];
  for (; free.length < count; ports--) if (!used.has(ports)) free.push(ports);
  return free;
}

export type ClusterKind = "healthy" | "without_primary";

/** Turns the database into three healthy nodes, or into two replicas whose primary has failed. */
export async function asCluster(world: World, id: number, kind: ClusterKind = "healthy"): Promise<void> {
  const { db, time } = world;
  const isHealthy = kind === "healthy";
  const { account_id } = await db
    .updateTable("databases")
    .set({ cluster_size: 3, replication_type: isHealthy ? "semi_synch" : "asynch" })
    .where("id", "=", id)
    .returning("account_id")
    .executeTakeFirstOrThrow();
  const host = await db.selectFrom("hosts").select("id").where("state", "=", "active").executeTakeFirstOrThrow();
  await db.updateTable("nodes").set({ released_at: time.now }).where("database_id", "=", id).execute();
  await db.insertInto("clusters").values({ account_id, database_id: id, group_password: "", authority: "" }).execute();
  const free = await freePorts(world, host.id, 3);
  const nodes = free.map((port, ordinal) => ({
    account_id,
    id: randomUUID(),
    database_id: id,
    host_id: host.id,
    ordinal,
    port,
    memory_mb: 2048,
    disk_mb: 20_480,
    created_at: new Date(0),
    observed_state: isHealthy || ordinal > 0 ? ("running" as const) : ("failed" as const),
    desired_spec: null,
    waiting_operation_id: null,
    observed_step: null,
    observed_message: null,
    observed_at: null,
    used_disk_mb: null,
    released_at: null,
  }));
  await db.insertInto("nodes").values(nodes).execute();
  const report = isHealthy
    ? { state: "online", online: 3, shared: true, primary: nodes[0]?.id }
    : { state: "offline", online: 0, shared: false, gtid: "", term: 1 };
  const since = isHealthy ? null : new Date(time.now.getTime() - 60_000);
  const memberColumns = { account_id, database_id: id, report: JSON.stringify(report), unhealthy_since: since };
  await db
    .insertInto("members")
    .values(nodes.map(({ id: node_id }) => ({ node_id, ...memberColumns })))
    .execute();
  if (isHealthy) return;
  const primaryTerm = {
    node_id: nodes[0]?.id as string,
    term: 1,
    reason: "fenced" as const,
    from_node: null,
    since: time.now,
  };
  await db
    .insertInto("primary_terms")
    .values({ account_id, database_id: id, ...primaryTerm })
    .execute();
}

export async function newTransfer(world: World, from: { accountId: number; token: string }): Promise<string> {
  const compute = await newCompute(world, from.accountId);
  const body = { entities: { computes: [compute] } };
  const reply = await world.as(from.token).post<{ token: string }>("/v4/account/service-transfers", body);
  if (reply.status !== 200) throw new Error(`No transfer: ${JSON.stringify(reply.body)}`);
  return reply.body.token;
}

/** Tokens of the account's users, of their apps and of its own app, from before it was cancelled. */
export async function closedAccount(world: World, client: string, another: Person) {
  const person = await world.customer();
  const { token: appsToken } = await consent(world, person, client, ["*"]);
  const { token: throughItsApp } = await consent(world, another, await newClient(world, person.accountId), ["*"]);
  const reply = await person.post("/v4/account/cancel", { comments: "Moved away." });
  if (reply.status !== 200) throw new Error(`Not cancelled: ${JSON.stringify(reply.body)}`);
  return { token: person.token, appsToken, throughItsApp };
}
