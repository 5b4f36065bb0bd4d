import { sha256 } from "../../packages/control-plane/src/platform/sha256.ts";
import { hasBackup } from "../../packages/control-plane/src/testing/past.ts";
import type { World } from "../../packages/control-plane/src/testing/world.ts";
import { consent, newClient, type Person } from "./apps.ts";
import { newCompute } from "./money.ts";

/** The smallest image there is. */
const PNG = Buffer.from(
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
      ...{ at: world.time.now, account_id: accountId, user_id: userId, username, restricted: false },
      ...{ address: "192.0.2.1", status: "successful" },
    })
    .returning("id");
  return (await row.executeTakeFirstOrThrow()).id;
}

/** A backup to restore from needs a node to restore into, and the world a host. */
export async function backupOf(world: World, id: number): Promise<string> {
  await world.activities.wantNodes((await world.lastOperation()).id);
  return String((await hasBackup(world, { id })).id);
}

export async function newTransfer(world: World, from: { accountId: number; token: string }): Promise<string> {
  const compute = await newCompute(world, from.accountId);
  const body = { entities: { computes: [compute] } };
  const reply = await world.as(from.token).post<{ token: string }>("/v4/account/service-transfers", body);
  if (reply.status !== 200) throw new Error(`No transfer: ${JSON.stringify(reply.body)}`);
  return reply.body.token;
}

/** What its people, their apps, and an app of its own held, from before it was cancelled. */
export async function closedAccount(world: World, client: string, another: Person) {
  const person = await world.customer();
  const { token: appsToken } = await consent(world, person, client, ["*"]);
  const { token: throughItsApp } = await consent(world, another, await newClient(world, person.accountId), ["*"]);
  const reply = await person.post("/v4/account/cancel", { comments: "Moved away." });
  if (reply.status !== 200) throw new Error(`Not cancelled: ${JSON.stringify(reply.body)}`);
  return { token: person.token, appsToken, throughItsApp };
}
