import { sql } from "kysely";
import { TOTP } from "otpauth";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./rules/texts.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;
const codeOf = (secret: string, at: Date, seconds = 0): string =>
  new TOTP({ secret }).generate({ timestamp: at.getTime() + seconds * 1000 });
const isOn = async (customer: Customer) =>
  (await customer.get<{ two_factor_auth: boolean }>("/v4/profile")).body.two_factor_auth;

async function offered(customer: Customer): Promise<string> {
  const reply = await customer.post<{ secret: string }>("/v4/profile/tfa-enable", {});
  expect(reply.status).toBe(200);
  return reply.body.secret;
}

test("a secret is offered for an hour, confirmed by a code, and the scratch codes are shown once", async () => {
  await using world = await newWorld();
  const customer = await world.customer();
  const reply = await customer.post<{ secret: string; expiry: string }>("/v4/profile/tfa-enable", {});
  expect(reply.body.expiry).toBe(new Date(world.time.now.getTime() + 3_600_000).toISOString().slice(0, 19));
  expect(await isOn(customer)).toBe(false);

  const confirmed = await customer.post<{ scratch: string; scratch_codes: string[] }>(
    "/v4/profile/tfa-enable-confirm",
    {
      tfa_code: codeOf(reply.body.secret, world.time.now),
    },
  );

  expect(confirmed.status).toBe(200);
  expect(confirmed.body.scratch_codes).toHaveLength(8);
  expect(confirmed.body.scratch).toBe(confirmed.body.scratch_codes[0]);
  expect(await isOn(customer)).toBe(true);
  expect((await world.events()).map(({ action, entity_type }) => [action, entity_type])).toEqual([
    ["tfa_enabled", "user"],
  ]);
  expect((await world.audit()).map(({ action }) => action)).toContain("tfa_enabled");
});

test("a user with a password is notified of each change, and one who never accepted an invitation is not", async () => {
  await using world = await newWorld();
  const [accepted, invited] = [await world.customer(), await world.customer()];
  await world.db.updateTable("users").set({ password_hash: "x" }).where("id", "=", accepted.userId).execute();
  const mails = async () => (await world.db.selectFrom("mails").selectAll().execute()).length;
  const turnOnAndOff = async (customer: Customer) => {
    const tfa_code = codeOf(await offered(customer), world.time.now);
    expect((await customer.post("/v4/profile/tfa-enable-confirm", { tfa_code })).status).toBe(200);
    expect((await customer.post("/v4/profile/tfa-disable", {})).status).toBe(200);
  };

  await turnOnAndOff(invited);
  expect(await mails()).toBe(0);
  await turnOnAndOff(accepted);
  expect(await mails()).toBe(2);
});

test("neither the secret nor a scratch code is in the database", async () => {
  await using world = await newWorld();
  const customer = await world.customer();
  const secret = await offered(customer);
  const [before] = await world.db.selectFrom("users").selectAll().execute();
  const { body } = await customer.post<{ scratch_codes: string[] }>("/v4/profile/tfa-enable-confirm", {
    tfa_code: codeOf(secret, world.time.now),
  });

  const [after] = await world.db.selectFrom("users").selectAll().execute();
  const codes = await world.db.selectFrom("scratch_codes").selectAll().execute();
  const kept = JSON.stringify([before, after, codes]);
  expect(before?.tfa_offered_secret).toMatch(/^v1\./);
  for (const each of [secret, ...body.scratch_codes]) expect(kept).not.toContain(each);
});

test("a wrong code, a code of an older offer, and one after the hour confirm nothing", async () => {
  await using world = await newWorld();
  const customer = await world.customer();
  const confirm = (tfa_code: unknown) => customer.post("/v4/profile/tfa-enable-confirm", { tfa_code });
  expect(await confirm("123456")).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.tfaNotOffered().text }] },
  });

  const first = await offered(customer);
  const second = await offered(customer);
  for (const code of [codeOf(first, world.time.now), codeOf(second, world.time.now, 90), "12345", 123456, ""])
    expect(await confirm(code)).toMatchObject({ status: 400, body: { errors: [{ field: "tfa_code" }] } });

  world.time.now = new Date(world.time.now.getTime() + 3_600_000);
  expect((await confirm(codeOf(second, world.time.now))).status).toBe(400);
  expect(await isOn(customer)).toBe(false);
});

test("while it is on, no new secret is offered; turning it off leaves nothing behind", async () => {
  await using world = await newWorld();
  const customer = await world.customer();
  const secret = await offered(customer);
  await customer.post("/v4/profile/tfa-enable-confirm", { tfa_code: codeOf(secret, world.time.now) });
  expect(await customer.post("/v4/profile/tfa-enable", {})).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.tfaAlreadyEnabled().text }] },
  });

  expect(await customer.post("/v4/profile/tfa-disable", {})).toMatchObject({ status: 200, body: {} });

  expect(await isOn(customer)).toBe(false);
  expect(await world.db.selectFrom("scratch_codes").selectAll().execute()).toEqual([]);
  expect((await world.events()).map(({ action }) => action)).toEqual(["tfa_enabled", "tfa_disabled"]);
  // Repeating it changes nothing.
  expect((await customer.post("/v4/profile/tfa-disable", {})).status).toBe(200);
  expect(await world.events()).toHaveLength(2);
});

test("a repeated confirmation with the same key shows the same scratch codes, which are stored sealed", async () => {
  await using world = await newWorld();
  const customer = await world.customer();
  const secret = await offered(customer);
  const confirm = () =>
    world.send({
      method: "POST",
      url: "/v4/profile/tfa-enable-confirm",
      headers: { authorization: `Bearer ${customer.token}`, "idempotency-key": "one" },
      payload: { tfa_code: codeOf(secret, world.time.now) },
    });
  const [first, second] = [await confirm(), await confirm()];

  expect(second.json()).toEqual(first.json());
  const { rows } = await sql<{ reply: string }>`select reply from idempotency_keys`.execute(world.db);
  expect(JSON.stringify(rows)).not.toContain(first.json<{ scratch: string }>().scratch);
});

test("a token without the account scope cannot change how a user signs in", async () => {
  await using world = await newWorld();
  const customer = await world.customer({ scopes: ["databases:read_write", "account:read_only"] });
  for (const path of ["tfa-enable", "tfa-enable-confirm", "tfa-disable"])
    expect((await customer.post(`/v4/profile/${path}`, { tfa_code: "123456" })).status).toBe(401);
});
