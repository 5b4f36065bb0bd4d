import type { PersonalToken } from "@moorage/contract";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type App, type Auth, authorize, codeFor, exchange, goOn, newProof, startAuth } from "../testing/auth.ts";
import { newWorld, type World } from "../testing/world.ts";
import { texts } from "./texts.ts";

let world: World;
let auth: Auth;
beforeAll(async () => {
  world = await newWorld();
  auth = await startAuth(world);
});
afterAll(async () => {
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const commandLine: App = {
  id: "moorage-cli",
  secret: "",
  public: true,
  redirectUri: "http://127.0.0.1:49152/callback",
};
const query = { scope: "*", device_name: "laptop" };
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
type Customer = Awaited<ReturnType<World["customer"]>>;
type Answer = { access_token: string; expires_in: number; error?: string };

const signIn = async (person: Customer, change: Record<string, string> = {}): Promise<Answer> =>
  (
    await exchange(auth, commandLine, await codeFor(auth, commandLine, person, { ...query, ...change }))
  ).json() as never;
const tokensOf = async (person: Customer): Promise<PersonalToken[]> =>
  (await person.get<{ data: PersonalToken[] }>("/v4/profile/tokens")).body.data;
const revoke = (token: string, clientId = commandLine.id) =>
  auth.post("/oauth/revoke", new URLSearchParams({ token, client_id: clientId }));
const isGood = async (token: string): Promise<boolean> => (await world.as(token).get("/v4/profile")).status === 200;

test("the command line gets a personal token, listed with the user's others, and no refresh token", async () => {
  const person = await world.customer();
  const answer = await signIn(person);

  expect(answer).toEqual({
    access_token: expect.stringMatching(/^[0-9a-f]{64}$/),
    token_type: "bearer",
    expires_in: 90 * 24 * 3600,
    scope: "*",
    scopes: "*",
  });
  expect(await isGood(answer.access_token)).toBe(true);
  expect((await tokensOf(person)).at(-1)).toMatchObject({
    label: "moorage login on laptop",
    scopes: "*",
    token: answer.access_token.slice(0, 16),
    expiry: expect.any(String),
  });
  const [event] = (await world.events()).filter(({ account_id }) => account_id === person.accountId);
  expect(event).toMatchObject({ action: "token_create", username: person.username });
  const audited = await world.db.selectFrom("audit").selectAll().where("actor", "=", person.username).execute();
  expect(audited.at(-1)).toMatchObject({ action: "create_token", detail: { client: "moorage-cli", scopes: ["*"] } });
  expect((await person.get<{ results: number }>("/v4/profile/apps")).body.results).toBe(0);
});

test("a restricted user signs the command line in, and it has only the user's rights", async () => {
  const owner = await world.customer();
  const colleague = await world.colleague(owner.accountId, { restricted: true });
  const { access_token: token } = await signIn(colleague);
  expect((await world.as(token).get("/v4/profile")).status).toBe(200);
  expect((await world.as(token).get("/v4/account/users")).status).toBe(403);
});

test("with fewer scopes it can do no more than these", async () => {
  const { access_token: token } = await signIn(await world.customer(), { scope: "databases:read_only" });
  expect((await world.as(token).get("/v4/databases/mysql/instances")).status).toBe(200);
  expect((await world.as(token).get("/v4/profile/tokens")).status).toBe(401);
});

test("the person sees the name of the requesting computer, on one line and cut to 60 characters", async () => {
  const person = await world.customer();
  const { challenge } = newProof();
  const { shown } = await authorize(auth.browser(), person, {
    client_id: commandLine.id,
    response_type: "code",
    redirect_uri: commandLine.redirectUri,
    state: "s",
    code_challenge: challenge,
    code_challenge_method: "S256",
    scope: "*",
    device_name: `desk\u202e\n${"x".repeat(100)}`,
  });
  expect(shown.map(({ prompt }) => prompt)).toEqual(["sign-in", "consent"]);
  expect(shown.at(-1)?.commandLine).toMatchObject({ machine: `desk ${"x".repeat(55)}` });
  expect(shown.at(-1)?.commandLine).not.toHaveProperty("device");
});

test("consent is required each time, even in a browser where it was given before", async () => {
  const person = await world.customer();
  const browser = auth.browser();
  await codeFor(auth, commandLine, person, query, browser);
  const { challenge } = newProof();
  const { shown } = await authorize(browser, person, {
    client_id: commandLine.id,
    response_type: "code",
    redirect_uri: commandLine.redirectUri,
    state: "s",
    ...query,
    code_challenge: challenge,
    code_challenge_method: "S256",
  });
  expect(shown.map(({ prompt }) => prompt)).toEqual(["consent"]);
});

test.each([
  ["without a proof", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
  ["for a scope that does not exist", { scope: "everything:read_only" }, "invalid_scope"],
])("%s there is no code", async (_what, change, error) => {
  const { challenge } = newProof();
  const { back } = await authorize(auth.browser(), await world.customer(), {
    client_id: commandLine.id,
    response_type: "code",
    redirect_uri: commandLine.redirectUri,
    state: "s",
    ...query,
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...change,
  });
  expect(back?.searchParams.get("error")).toBe(error);
});

test.each(["https://evil.example/callback", "http://127.0.0.1:49152/other", "http://localhost:49152/callback"])(
  "a code is never sent to %s",
  async (redirectUri) => {
    const { challenge } = newProof();
    const { reply, back } = await authorize(auth.browser(), await world.customer(), {
      client_id: commandLine.id,
      response_type: "code",
      redirect_uri: redirectUri,
      state: "s",
      ...query,
      code_challenge: challenge,
      code_challenge_method: "S256",
    });
    expect([reply.status, back]).toEqual([400, undefined]);
  },
);

test("using a code twice revokes the token that was issued for it", async () => {
  const person = await world.customer();
  const code = await codeFor(auth, commandLine, person, query);
  const first = (await (await exchange(auth, commandLine, code)).json()) as Answer;
  expect(await isGood(first.access_token)).toBe(true);

  const second = await exchange(auth, commandLine, code);

  expect(await second.json()).toMatchObject({ error: "invalid_grant" });
  expect(await isGood(first.access_token)).toBe(false);
});

test("of ten concurrent exchanges of one code nobody keeps a token", async () => {
  const person = await world.customer();
  const code = await codeFor(auth, commandLine, person, query);
  const answers = await Promise.all(
    Array.from({ length: 10 }, async () => (await (await exchange(auth, commandLine, code)).json()) as Answer),
  );
  const given = answers.flatMap(({ access_token: token }) => token ?? []);
  expect(await Promise.all(given.map(isGood))).not.toContain(true);
});

describe("revoking", () => {
  test("the command line revokes its own token, with an event", async () => {
    const person = await world.customer();
    const { access_token: token } = await signIn(person);
    expect((await revoke(token)).status).toBe(200);
    expect(await isGood(token)).toBe(false);
    const events = (await world.events()).filter(({ account_id }) => account_id === person.accountId);
    expect(events.map(({ action }) => action)).toEqual(["token_create", "token_delete"]);
    expect((await revoke(token)).status).toBe(200);
  });

  test("another client cannot revoke it, and the command line revokes only tokens issued to it", async () => {
    const person = await world.customer();
    const { access_token: token } = await signIn(person);
    const app = await auth.newApp(person, { public: true });
    await revoke(token, app.id);
    await revoke(person.token);
    expect([await isGood(token), await isGood(person.token)]).toEqual([true, true]);
  });

  test("its user revokes it like other tokens", async () => {
    const person = await world.customer();
    const { access_token: token } = await signIn(person);
    const { id } = (await tokensOf(person)).at(-1) as PersonalToken;
    expect((await person.delete(`/v4/profile/tokens/${id}`)).status).toBe(200);
    expect(await isGood(token)).toBe(false);
  });
});

describe("by a device code", () => {
  afterEach(() => {
    vi.useRealTimers();
  });
  type DeviceAuthorization = { device_code: string; user_code: string };
  const startDevice = async (): Promise<DeviceAuthorization> => {
    const reply = await auth.post(
      "/oauth/device_authorization",
      new URLSearchParams({ client_id: commandLine.id, ...query }),
    );
    return (await reply.json()) as DeviceAuthorization;
  };
  const poll = async ({ device_code }: DeviceAuthorization): Promise<Answer> => {
    const form = { grant_type: DEVICE_GRANT, client_id: commandLine.id, device_code };
    return (await auth.post("/oauth/token", new URLSearchParams(form))).json() as never;
  };
  /** The page after the code was typed in. */
  const typeCode = async (browser: ReturnType<Auth["browser"]>, userCode: string): Promise<Response> => {
    const { fields } = JSON.parse(await (await browser.get("/device")).text()) as { fields: Record<string, string> };
    return browser.post("/device", { ...fields, user_code: userCode });
  };
  const approve = async (person: Customer, userCode: string, answer: "consent" | "refuse" = "consent") => {
    const browser = auth.browser();
    return goOn(browser, person, await typeCode(browser, userCode), answer);
  };
  const faultAfter = async (userCode: string): Promise<string> =>
    (JSON.parse(await (await typeCode(auth.browser(), userCode)).text()) as { fault: string }).fault;

  test("a device waits until the person agrees, and gets the token once", async () => {
    const person = await world.customer();
    const device = await startDevice();
    expect(device).toEqual({
      device_code: expect.any(String),
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: `${auth.url}/device`,
      expires_in: 600,
      interval: 5,
    });
    expect(await poll(device)).toMatchObject({ error: "authorization_pending" });

    // As people type it.
    const { reply, shown } = await approve(person, ` ${device.user_code.replace("-", "").toLowerCase()} `);
    expect(await reply.text()).toBe("the command line is signed in");
    expect(shown.at(-1)?.commandLine).toMatchObject({
      machine: "laptop",
      device: { userCode: device.user_code, address: expect.stringContaining("127.0.0.1") },
    });

    const { access_token: token } = await poll(device);
    expect(await isGood(token)).toBe(true);
    expect((await tokensOf(person)).at(-1)).toMatchObject({ label: "moorage login on laptop" });
    expect(await poll(device)).toMatchObject({ error: "invalid_grant" });
    expect(await isGood(token)).toBe(false);
  });

  test("a refusal issues nothing, and the device is notified", async () => {
    const device = await startDevice();
    const { reply } = await approve(await world.customer(), device.user_code, "refuse");
    expect(await reply.text()).toContain(texts.deviceRefusedTitle().text);
    expect(await poll(device)).toMatchObject({ error: "access_denied" });
  });

  test("a code is for one person: a second one gets an error, and changes nothing", async () => {
    const [first, second] = [await world.customer(), await world.customer()];
    const device = await startDevice();
    await approve(first, device.user_code);
    expect(await faultAfter(device.user_code)).toBe(texts.deviceCodeUsed().text);
    const { access_token: token } = await poll(device);
    expect((await world.as(token).get("/v4/profile")).body).toMatchObject({ username: first.username });
    expect(await tokensOf(second)).toHaveLength(1);
  });

  test("a wrong code and one expired after ten minutes get different errors", async () => {
    expect(await faultAfter("BBBB-BBBB")).toBe(texts.deviceCodeUnknown().text);
    expect(await faultAfter("")).toBe(texts.deviceCodeMissing().text);
    const device = await startDevice();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 11 * 60_000 });
    expect(await faultAfter(device.user_code)).toBe(texts.deviceCodeExpired().text);
    expect(await poll(device)).toMatchObject({ error: "expired_token" });
  });

  test("a form from another site signs nothing in", async () => {
    const device = await startDevice();
    const browser = auth.browser();
    await browser.get("/device");
    await browser.post("/device", { user_code: device.user_code, xsrf: "guessed" });
    expect(await poll(device)).toMatchObject({ error: "authorization_pending" });
  });

  test("a link cannot contain the code: the person types it in", async () => {
    const device = await startDevice();
    const page = await (await auth.browser().get(`/device?user_code=${device.user_code}`)).text();
    expect(page).not.toContain(device.user_code);
  });

  test("third-party apps have no device flow", async () => {
    const app = await auth.newApp(await world.customer(), { public: true });
    const form = { client_id: app.id, scope: "databases:read_only" };
    const refused = { error_description: expect.stringContaining("not allowed for this client") };
    const reply = await auth.post("/oauth/device_authorization", new URLSearchParams(form));
    expect([reply.status, await reply.json()]).toEqual([400, expect.objectContaining(refused)]);
  });

  test("neither code is in the database", async () => {
    const device = await startDevice();
    const rows = JSON.stringify(await world.db.selectFrom("auth_records").selectAll().execute());
    for (const secret of [device.device_code, device.user_code, device.user_code.replace("-", "")])
      expect(rows).not.toContain(secret);
  });
});
