import { randomUUID } from "node:crypto";
import type { ArchivedCopy, ArchivedLog, NodeSpec, UploadsReply } from "@moorage/contract/agent";
import { sha256 } from "#platform/sha256.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { startObjectStore } from "./object-store.ts";
import { newWorld, type World } from "./world.ts";

/** A world with a real object store and a gateway, and a database whose host archives it as an agent does. */
export async function archiveWorld(options: Parameters<typeof startObjectStore>[0] = {}) {
  const [world, store] = await Promise.all([newWorld(), startObjectStore(options)]);
  const gateway = await startGateway(world, store);
  return {
    world,
    store,
    gateway,
    /** Of the given customer, or of a new one. */
    database: (customer?: Customer) => archivedDatabase(world, gateway, customer),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

type Customer = Awaited<ReturnType<World["customer"]>>;

async function archivedDatabase(world: World, gateway: Gateway, owner?: Customer) {
  const host = await gateway.enrolledHost();
  await world.db
    .insertInto("host_leases")
    .values({
      host_id: host.id,
      seen_at: world.time.now,
      agent: "test",
      agent_epoch: 1,
      boot: "b",
      clock_offset_ms: 0,
      trash_mb: 0,
      unknown: [],
    })
    .execute();
  const customer = owner ?? (await world.customer());
  const { id } = (await customer.create()).body;
  await world.activities.setDesiredNodes((await world.lastOperation()).id);
  const spec = (await world.nodes()).at(-1)?.desired_spec as NodeSpec;
  const { node, data: { timeline } = { timeline: "" } } = spec;
  const call = <Body = Record<string, unknown>>(path: string, message: object) =>
    gateway.post<Body>(host, path, { node, ...message });

  /** With upload addresses from the gateway, as a host does. */
  const upload = async (name: string, body: string): Promise<void> => {
    const { body: given } = await call<UploadsReply>("/v1/uploads", { timeline, names: [name] });
    const { status } = await fetch(given.urls[0] as string, { method: "PUT", body, headers: given.headers ?? {} });
    if (status !== 200) throw new Error(`The object store answered ${status}.`);
  };
  const reportArchived = (archived: object) =>
    gateway.post(host, "/v1/archived", { nodes: [{ node, timeline, ...archived }] });
  const minute = (n: number): string => new Date(world.time.now.getTime() + n * 60_000).toISOString();

  const uploadCopy = async (from: number, to: number, parts = ["one", "two"]): Promise<ArchivedCopy> => {
    const copyId = randomUUID();
    for (const [n, part] of parts.entries()) await upload(`copies/${copyId}/part-00000${n + 1}`, part);
    const manifest = JSON.stringify({
      parts: parts.map((part) => ({ bytes: part.length, sha256: sha256(part).toString("hex") })),
    });
    await upload(`copies/${copyId}/manifest.json`, manifest);
    return {
      id: copyId,
      started_at: minute(from),
      ended_at: minute(to),
      gtid: `uuid:1-${from}`,
      bytes: 6,
      parts: parts.length,
      manifest_sha256: sha256(manifest).toString("hex"),
    };
  };
  const uploadLog = async (sequence: number, closed: number, text = `log ${sequence}`): Promise<ArchivedLog> => {
    const name = `binlog.${String(sequence).padStart(6, "0")}`;
    await upload(`logs/${name}`, text);
    return {
      name,
      sequence,
      closed_at: minute(closed),
      gtid: `uuid:1-${closed}`,
      bytes: text.length,
      sha256: sha256(text).toString("hex"),
    };
  };
  const prefix = `accounts/${customer.accountId}/databases/${id}/timelines/${timeline}/`;

  return {
    host,
    customer,
    id,
    node,
    timeline,
    spec,
    prefix,
    call,
    upload,
    uploadCopy,
    uploadLog,
    reportArchived,
    minute,
  };
}
