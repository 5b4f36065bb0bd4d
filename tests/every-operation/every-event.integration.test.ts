import { EventAction, listEvents } from "@moorage/contract";
import { Secret, TOTP } from "otpauth";
import { expect, test } from "vitest";
import { newWorld, REGION, type World } from "../../packages/control-plane/src/testing/world.ts";
import { everyGrant } from "./expected-access.ts";
import { addCard, CARD, ZIP } from "./limits.ts";
import { newInstance } from "./machines.ts";
import { newCompute } from "./money.ts";
import { fieldFaultsOf } from "./outcome.ts";
import { type Entity, newFixture, type Fixture, tokenKinds } from "./fixture.ts";

type Visible = "account" | "compute" | "database" | "image" | "unrestricted";

/** Who else sees an event of somebody's action, written by hand. An action that is not listed belongs to a database. */
const business: Partial<Record<EventAction, Visible>> = {
  account_settings_update: "account",
  account_update: "account",
  credit_card_updated: "account",
  // An event of a disk belongs to its instance.
  disk_imagize: "compute",
  image_delete: "image",
  image_update: "image",
  image_upload: "image",
  payment_method_add: "account",
  payment_submitted: "account",
  // Transfers are visible to those who may send and accept them.
  entity_transfer_accept: "unrestricted",
  entity_transfer_cancel: "unrestricted",
  entity_transfer_create: "unrestricted",
  entity_transfer_fail: "unrestricted",
  entity_transfer_stale: "unrestricted",
  oauth_client_create: "account",
  oauth_client_delete: "account",
  oauth_client_secret_reset: "account",
  oauth_client_update: "account",
  // A user's sign-in, credentials and personal tokens.
  password_reset: "unrestricted",
  profile_update: "unrestricted",
  tfa_disabled: "unrestricted",
  tfa_enabled: "unrestricted",
  token_create: "unrestricted",
  token_delete: "unrestricted",
  token_update: "unrestricted",
  user_create: "unrestricted",
  user_delete: "unrestricted",
  user_update: "unrestricted",
};

const businessOf = (action: EventAction): Visible => business[action] ?? "database";

/**
 * Performs every action of the tenants' interface that emits an event which does not belong to a database. Returns the
 * objects of those actions that grants can name.
 */
async function doEverything(
  world: World,
  token: string,
  accountId: number,
): Promise<{ compute: Entity; image: Entity }> {
  const person = world.as(token);
  await person.put("/v4/account", ZIP);
  await person.put("/v4/account/settings", { network_helper: false });
  await addCard(person);
  await person.post("/v4/account/credit-card", CARD);
  await person.post("/v4/account/payments", { usd: "7.50" });
  await transfers(world, token, accountId);
  await person.post("/v4/account/users", { username: "newcomer", email: "new@test.example" });
  await person.put("/v4/account/users/newcomer", { email: "newer@test.example" });
  await person.delete("/v4/account/users/newcomer");
  const { body: client } = await person.post("/v4/account/oauth-clients", {
    label: "App",
    redirect_uri: "https://a.test/",
  });
  const path = `/v4/account/oauth-clients/${String(client["id"])}`;
  await person.put(path, { label: "An app" });
  await person.post(`${path}/reset-secret`);
  await person.delete(path);
  await doOwn(world, token);
  return { image: await uploaded(world, token), compute: await captured(world, token, accountId) };
}

async function uploaded(world: World, token: string): Promise<Entity> {
  const person = world.as(token);
  const newImage = { label: "Uploaded", region: REGION };
  const { image } = (await person.post<{ image: { id: string } }>("/v4/images/upload", newImage)).body;
  await person.put(`/v4/images/${image.id}`, { label: "Renamed" });
  await person.delete(`/v4/images/${image.id}`);
  return { type: "image", id: Number(image.id.replace("private/", "")) };
}

async function captured(world: World, token: string, accountId: number): Promise<Entity> {
  const { computeId, diskId } = await newInstance(world, accountId);
  await world.as(token).post("/v4/images", { disk_id: diskId });
  return { type: "compute", id: computeId };
}

/** A transfer that is cancelled, and one from another account that is accepted. */
async function transfers(world: World, token: string, accountId: number): Promise<void> {
  const offer = async (from: { post: World["anonymous"]["post"] }, whose: number): Promise<string> => {
    const body = { entities: { computes: [await newCompute(world, whose)] } };
    return `${TRANSFERS}/${(await from.post<{ token: string }>(TRANSFERS, body)).body.token}`;
  };
  await world.as(token).delete(await offer(world.as(token), accountId));
  const giver = await world.customer();
  await world.as(token).post(`${await offer(giver, giver.accountId)}/accept`);
}
const TRANSFERS = "/v4/account/service-transfers";

/** Actions that need no grant. */
async function doOwn(world: World, token: string): Promise<void> {
  const person = world.as(token);
  await person.put("/v4/profile", { timezone: "Europe/Berlin" });
  const { body: made } = await person.post("/v4/profile/tokens", { label: "one" });
  await person.put(`/v4/profile/tokens/${String(made["id"])}`, { label: "another" });
  await person.delete(`/v4/profile/tokens/${String(made["id"])}`);
  const { body: offer } = await person.post<{ secret: string }>("/v4/profile/tfa-enable");
  const code = new TOTP({ secret: Secret.fromBase32(offer.secret) }).generate({ timestamp: world.time.now.getTime() });
  await person.post("/v4/profile/tfa-enable-confirm", { tfa_code: code });
  await person.post("/v4/profile/tfa-disable");
}

type Seen = { id: number; action: EventAction };

/** By the list, whose count must be correct, and by each id. */
async function seenBy(
  world: World,
  fixture: Fixture,
  person: Fixture["owner"],
  all: readonly Seen[],
): Promise<EventAction[]> {
  const answers: EventAction[][] = [];
  for (const kind of tokenKinds) {
    const reader = world.as(await fixture.token(person, ["*"], kind));
    const { body } = await reader.get<{ data: Seen[]; results: number }>("/v4/account/events?page_size=500");
    expect(body.results).toBe(body.data.length);
    expect(fieldFaultsOf(listEvents, body)).toEqual([]);
    const listed = new Set(body.data.map(({ id }) => id));
    for (const { id } of all)
      expect((await reader.get(`/v4/account/events/${id}`)).status).toBe(listed.has(id) ? 200 : 404);
    answers.push(body.data.map(({ action }) => action).toSorted());
  }
  expect(answers[0]).toEqual(answers[1]);
  return answers[0] ?? [];
}

test("every event is visible exactly to those who may see it, in lists, views and counts", async () => {
  await using world = await newWorld();
  await world.host();
  const fixture = await newFixture(world);
  const { entity } = await fixture.target(["instanceId"], fixture.owner);
  const database = entity as Entity;
  const { compute, image } = await doEverything(world, fixture.ownersToken, fixture.owner.accountId);
  const done = await world.db
    .selectFrom("events")
    .select(["id", "action"])
    .where("account_id", "=", fixture.owner.accountId)
    .execute();
  const actions = done.map(({ action }) => action).toSorted();
  const of = (...which: Visible[]): EventAction[] => actions.filter((action) => which.includes(businessOf(action)));
  // Made at the login host, or by the passing of time: tests of those parts cover them.
  const elsewhere: EventAction[] = ["password_reset", "entity_transfer_fail", "entity_transfer_stale"];
  const byPeople = EventAction.options.filter(
    (action) => businessOf(action) !== "database" && !elsewhere.includes(action),
  );
  expect(new Set(of("account", "compute", "image", "unrestricted"))).toEqual(new Set(byPeople));

  const expected: [reader: Fixture["owner"], sees: EventAction[]][] = [
    [fixture.owner, actions],
    [fixture.colleague, actions],
    [fixture.stranger, []],
    [await fixture.restricted(), []],
    [await fixture.restricted({ grants: ["account_read"] }), of("account")],
    [await fixture.restricted({ grants: ["account_write"] }), of("account")],
    [await fixture.restricted({ grants: everyGrant }), of("account")],
    [await fixture.restricted({ on: [database, "read_only"] }), of("database")],
    [await fixture.restricted({ on: [compute, "read_only"] }), of("compute")],
    [await fixture.restricted({ on: [image, "read_only"] }), of("image")],
    // An object of another kind with the same number.
    [await fixture.restricted({ on: [{ type: "image", id: compute.id }, "read_write"] }), []],
    [await fixture.restricted({ grants: everyGrant, on: [database, "read_write"] }), of("account", "database")],
  ];
  for (const [reader, sees] of expected) expect(await seenBy(world, fixture, reader, done)).toEqual(sees);
});

test("a restricted user sees their own actions, and other restricted users do not", async () => {
  await using world = await newWorld();
  const fixture = await newFixture(world);
  const [one, other] = [await fixture.restricted(), await fixture.restricted({ grants: everyGrant })];
  await doOwn(world, await fixture.token(one));
  const done = await world.db
    .selectFrom("events")
    .select(["id", "action"])
    .where("account_id", "=", fixture.owner.accountId)
    .execute();

  expect(await seenBy(world, fixture, one, done)).toEqual(done.map(({ action }) => action).toSorted());
  expect(await seenBy(world, fixture, other, done)).toEqual([]);
  expect(done).toHaveLength(6);
});
