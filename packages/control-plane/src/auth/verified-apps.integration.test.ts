import { afterAll, beforeAll, expect, test } from "vitest";
import { type AuthServer, newAuthServer, PASSWORD } from "#testing/auth-server.ts";
import { authorizePath, BACK, newProof } from "#testing/auth.ts";
import { newWorld, type World } from "#testing/world.ts";

let world: World;
let auth: AuthServer;
beforeAll(async () => {
  world = await newWorld();
  auth = await newAuthServer(world);
});
afterAll(async () => {
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

type Customer = Awaited<ReturnType<World["customer"]>>;
const CLIENTS = "/v4/account/oauth-clients";
async function newApp() {
  const owner = await world.customer();
  await world.db.updateTable("accounts").set({ company: "Quay & Sons" }).where("id", "=", owner.accountId).execute();
  const { body } = await owner.post<{ id: string }>(CLIENTS, { label: "Moorage Console", redirect_uri: BACK });
  return { owner, id: body.id };
}
const verify = (id: string, verified: boolean) =>
  world.operator.post(`/admin/oauth-clients/${id}/verified`, { verified });
/** A person whom the app sends to sign in. */
async function sentBy(id: string, person: Customer) {
  await auth.setPassword(person);
  const visitor = auth.visitor();
  const proof = { code_challenge: newProof().challenge, code_challenge_method: "S256" };
  const query = { client_id: id, response_type: "code", scope: "databases:read_only", redirect_uri: BACK, state: "s" };
  await visitor.get(authorizePath({ ...query, ...proof }));
  const page = await visitor.submit("/sign-in", { name: person.username, password: PASSWORD });
  return { visitor, page };
}
const grants = (id: string) => world.db.selectFrom("app_grants").selectAll().where("client_id", "=", id).execute();

test("an app that the operator has not verified gets no consent from users of other accounts", async () => {
  const { id } = await newApp();
  const { visitor, page } = await sentBy(id, await world.customer());

  expect(page).toMatchObject({ status: 400, html: expect.stringContaining("has not verified it") });
  expect(page.html).toContain("calls itself Quay &#38; Sons");
  expect(visitor.form("/consent")).toBeUndefined();
  const refuse = visitor.form("/refuse");
  const forced = await visitor.post((refuse?.action ?? "").replace("/refuse", "/consent"), refuse?.hidden ?? {});
  expect(forced.status).toBe(400);
  expect(await grants(id)).toEqual([]);

  const back = await visitor.post(refuse?.action ?? "", refuse?.hidden ?? {});
  expect(back.url.href).toContain(`${BACK}?error=access_denied`);
});

test("it gets consent from users of its own account, who see that it is not verified", async () => {
  const { owner, id } = await newApp();
  const { visitor, page } = await sentBy(id, await world.colleague(owner.accountId));

  expect(page).toMatchObject({ status: 200, html: expect.stringContaining("The operator has not verified it") });
  expect(page.html).toContain("Your own account, Quay &#38; Sons");
  expect((await visitor.submit("/consent")).url.searchParams.get("code")).not.toBeNull();
  expect(await grants(id)).toHaveLength(1);
});

test("a verified app gets consent from users of all accounts, until the operator ends the verification", async () => {
  const { owner, id } = await newApp();
  expect((await verify(id, true)).body).toMatchObject({ verified: true });
  const { visitor, page } = await sentBy(id, await world.customer());

  expect(page).toMatchObject({ status: 200, html: expect.stringContaining("The operator has verified the name") });
  expect(page.html).toContain("calls itself Quay &#38; Sons registered the app");
  expect((await visitor.submit("/consent")).url.searchParams.get("code")).not.toBeNull();
  await verify(id, false);
  expect((await sentBy(id, await world.customer())).page.status).toBe(400);
  const events = (await world.events()).filter(({ account_id }) => account_id === owner.accountId);
  expect(events.map(({ action, message }) => [action, message?.includes("verif") ?? false])).toEqual([
    ["oauth_client_create", false],
    ["oauth_client_update", true],
    ["oauth_client_update", true],
  ]);
});

test.each([
  ["label", { label: "Moorage Security" }],
  ["redirect URI", { redirect_uri: "https://elsewhere.example/back" }],
])("another %s ends the verification, the same one does not", async (_what, change) => {
  const { owner, id } = await newApp();
  await verify(id, true);
  const isVerified = async () =>
    (
      await world.operator.get<{ data: { id: string; verified: boolean }[] }>("/admin/oauth-clients?page_size=500")
    ).body.data.find((each) => each.id === id)?.verified;

  await owner.put(`${CLIENTS}/${id}`, { label: "Moorage Console", redirect_uri: BACK });
  expect(await isVerified()).toBe(true);
  await owner.put(`${CLIENTS}/${id}`, change);
  expect(await isVerified()).toBe(false);
});

test.each([
  ["label", { label: "Moorage Security" }],
  ["redirect URI", { redirect_uri: "https://elsewhere.example/back" }],
])("another %s ends the consents that were given, the same one does not", async (_what, change) => {
  const { owner, id } = await newApp();
  const colleague = await world.colleague(owner.accountId);
  const { visitor } = await sentBy(id, colleague);
  expect((await visitor.submit("/consent")).url.searchParams.get("code")).not.toBeNull();
  const apps = async () => (await colleague.get<{ results: number }>("/v4/profile/apps")).body.results;

  await owner.put(`${CLIENTS}/${id}`, { label: "Moorage Console", redirect_uri: BACK });
  expect(await apps()).toBe(1);
  await owner.put(`${CLIENTS}/${id}`, change);
  expect(await apps()).toBe(0);
});
