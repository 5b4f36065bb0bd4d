import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createAuthenticate, createTokenCache } from "#identity/index.ts";
import { listen } from "#platform/db/notifications.ts";
import { createLog } from "#platform/log.ts";
import {
  type App,
  type Auth,
  authorize,
  authorizePath,
  codeFor,
  exchange,
  refresh,
  secretOf,
  startAuth,
  type Tokens,
  tokensFor,
} from "../testing/auth.ts";
import { countWaiting } from "../testing/count-waiting.ts";
import { newWorld, type World } from "../testing/world.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;
const MANY = 20;

let world: World;
let auth: Auth;
let person: Customer;
let processes: Awaited<ReturnType<typeof startProcess>>[];
beforeAll(async () => {
  world = await newWorld();
  auth = await startAuth(world);
  person = await world.customer();
  processes = [await startProcess(), await startProcess()];
});
afterAll(async () => {
  for (const one of processes) await one.close();
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** What an `api` process has: its own cache, which drops a token only when it is notified. */
async function startProcess() {
  const started = new Date();
  const tokens = createTokenCache(() => started);
  const state = { listening: false };
  const listening = listen(world.databaseUrl, "identity", createLog("test", "silent"), {
    onNotification: () => tokens.forget(),
    onConnect: () => {
      tokens.open();
      state.listening = true;
    },
    onDisconnect: () => tokens.close(),
  });
  await vi.waitFor(() => expect(state.listening).toBe(true), { timeout: 60_000 });
  const authenticate = createAuthenticate({ db: world.db, clock: () => new Date(), tokens });
  return {
    close: () => listening.close(),
    accepts: (token: string) =>
      authenticate(`Bearer ${token}`).then(
        () => true,
        () => false,
      ),
  };
}

const areAccepted = async (...tokens: string[]): Promise<boolean> => {
  const checks = tokens.flatMap((token) => processes.map(({ accepts }) => accepts(token)));
  return (await Promise.all(checks)).every((accepts) => accepts);
};
const die = async (...tokens: string[]): Promise<boolean> => {
  const until = Date.now() + 60_000;
  const dieOf = async (accepts: (token: string) => Promise<boolean>, token: string): Promise<boolean> =>
    !(await accepts(token)) || (Date.now() < until && (await pause(20), dieOf(accepts, token)));
  const checks = tokens.flatMap((token) => processes.map(({ accepts }) => dieOf(accepts, token)));
  return (await Promise.all(checks)).every((dead) => dead);
};
const errorOf = async (reply: Response): Promise<string> => {
  const { error, error_description } = (await reply.json()) as Record<string, string>;
  return `${reply.status} ${error}${error_description === undefined ? " without advice" : ""}`;
};
const ENDED = "400 invalid_grant";
const liveGrants = (app: App) =>
  world.db
    .selectFrom("app_grants")
    .select("id")
    .where("client_id", "=", app.id)
    .where("revoked_at", "is", null)
    .execute();

describe("a replay revokes everything issued from the same consent, in every process", () => {
  test("of a code", async () => {
    const app = await auth.newApp(person);
    const got = await codeFor(auth, app, person);
    const tokens = (await (await exchange(auth, app, got)).json()) as Tokens;
    const fresh = (await (await refresh(auth, app, tokens.refresh_token)).json()) as Tokens;
    expect(await areAccepted(tokens.access_token)).toBe(true);
    expect(await areAccepted(fresh.access_token)).toBe(true);
    expect(await errorOf(await exchange(auth, app, got))).toBe(ENDED);
    expect(await die(tokens.access_token, fresh.access_token)).toBe(true);
    expect(await errorOf(await refresh(auth, app, fresh.refresh_token))).toBe(ENDED);
  });

  test("of a refresh token", async () => {
    const app = await auth.newApp(person);
    const first = await tokensFor(auth, app, person);
    const second = (await (await refresh(auth, app, first.refresh_token)).json()) as Tokens;
    expect(await areAccepted(second.access_token)).toBe(true);
    expect(await errorOf(await refresh(auth, app, first.refresh_token))).toBe(ENDED);
    expect(await die(first.access_token, second.access_token)).toBe(true);
    expect(await errorOf(await refresh(auth, app, second.refresh_token))).toBe(ENDED);
  });

  test("but not what was issued from another consent", async () => {
    const app = await auth.newApp(person);
    const [one, other] = [await tokensFor(auth, app, person), await tokensFor(auth, app, person)];
    await refresh(auth, app, one.refresh_token);
    await refresh(auth, app, one.refresh_token);
    expect(await die(one.access_token)).toBe(true);
    expect(await areAccepted(other.access_token)).toBe(true);
  });
});

describe(`${MANY} concurrent uses of one secret`, () => {
  const useAtOnce = async (use: () => Promise<Response>): Promise<{ won: Tokens[]; lost: number }> => {
    const replies = await Promise.all(Array.from({ length: MANY }, use));
    const won = replies.filter(({ status }) => status === 200);
    return {
      won: await Promise.all(won.map((reply) => reply.json() as Promise<Tokens>)),
      lost: replies.filter(({ status }) => status === 400).length,
    };
  };
  test("get at most one token for a code, and it is revoked too", async () => {
    const app = await auth.newApp(person);
    const got = await codeFor(auth, app, person);
    const { won, lost } = await useAtOnce(() => exchange(auth, app, got));
    expect(won.length).toBeLessThanOrEqual(1);
    expect(lost).toBe(MANY - won.length);
    expect(await die(...won.map(({ access_token }) => access_token))).toBe(true);
    expect(await liveGrants(app)).toEqual([]);
  });

  test("get at most one token for a refresh token, and it is revoked too", async () => {
    const app = await auth.newApp(person);
    const first = await tokensFor(auth, app, person);
    const { won, lost } = await useAtOnce(() => refresh(auth, app, first.refresh_token));
    expect(won.length).toBeLessThanOrEqual(1);
    expect(lost).toBe(MANY - won.length);
    expect(await die(...[first, ...won].map(({ access_token }) => access_token))).toBe(true);
    expect(await liveGrants(app)).toEqual([]);
  });
});

describe("of two that both checked before either used it, at most one succeeds, and its token is revoked too", () => {
  const uses = {
    AuthorizationCode: async (app: App) => {
      const got = await codeFor(auth, app, person);
      return () => exchange(auth, app, got);
    },
    RefreshToken: async (app: App) => {
      const { refresh_token } = await tokensFor(auth, app, person);
      return () => refresh(auth, app, refresh_token);
    },
  };
  test.each(["AuthorizationCode", "RefreshToken"] as const)("%s", async (model) => {
    const app = await auth.newApp(person);
    const use = await uses[model](app);
    const replies = await world.db.transaction().execute(async (tx) => {
      await tx.selectFrom("auth_records").select("model").where("model", "=", model).forUpdate().execute();
      const both = Promise.all([use(), use()]);
      await vi.waitFor(async () => expect(await countWaiting(world)).toBe(2), { timeout: 60_000, interval: 20 });
      return { both };
    });
    const won = (await replies.both).filter(({ status }) => status === 200);
    expect(won.length).toBeLessThanOrEqual(1);
    const tokens = await Promise.all(won.map((reply) => reply.json() as Promise<Tokens>));
    expect(await die(...tokens.map(({ access_token }) => access_token))).toBe(true);
    expect(await liveGrants(app)).toEqual([]);
  });
});

describe("ending a client revokes its tokens in every process", () => {
  const endings: [string, (app: App) => Promise<unknown>, string][] = [
    ["deleted", (app) => person.delete(`/v4/account/oauth-clients/${app.id}`), "401 invalid_client"],
    ["disabled", (app) => setStatus(app, "disabled"), "401 invalid_client"],
    ["suspended", (app) => setStatus(app, "suspended"), "401 invalid_client"],
    ["made public", (app) => person.put(`/v4/account/oauth-clients/${app.id}`, { public: true }), ENDED],
  ];
  const setStatus = (app: App, status: string) =>
    world.operator.post(`/admin/oauth-clients/${app.id}/status`, { status });

  test.each(endings)("%s", async (_how, end, error) => {
    const app = await auth.newApp(person);
    const tokens = await tokensFor(auth, app, person);
    const waiting = await codeFor(auth, app, person);
    expect(await areAccepted(tokens.access_token)).toBe(true);
    await end(app);
    expect(await die(tokens.access_token)).toBe(true);
    expect(await errorOf(await exchange(auth, app, waiting))).toBe(error);
    expect(await errorOf(await refresh(auth, app, tokens.refresh_token))).toBe(error);
  });

  test("an old secret does not work", async () => {
    const app = await auth.newApp(person);
    const { refresh_token } = await tokensFor(auth, app, person);
    const reset = await person.post<{ secret: string }>(`/v4/account/oauth-clients/${app.id}/reset-secret`);
    expect(await errorOf(await refresh(auth, app, refresh_token))).toBe("401 invalid_client");
    expect((await refresh(auth, { ...app, secret: reset.body.secret }, refresh_token)).status).toBe(200);
  });

  test("a client that changed while a person was asked for consent gets nothing", async () => {
    const app = await auth.newApp(person);
    const browser = auth.browser();
    const query = { client_id: app.id, response_type: "code", scope: "images:read_only" };
    await authorize(browser, person, query);
    const page = await browser.get(authorizePath({ ...query, scope: "account:read_only" }));
    const at = new URL(page.headers.get("location") ?? "", auth.url).pathname;
    await person.put(`/v4/account/oauth-clients/${app.id}`, { public: true });
    const reply = await browser.post(`${at}/consent`);
    expect(reply.status).toBe(400);
  });
});

describe("revocation", () => {
  const revoke = (app: App, token: string, change: object = {}) =>
    auth.post("/oauth/revoke", new URLSearchParams({ client_id: app.id, token, ...secretOf(app), ...change }));

  test.each(["access_token", "refresh_token"] as const)("of the %s ends both", async (kind) => {
    const app = await auth.newApp(person, { public: kind === "access_token" });
    const tokens = await tokensFor(auth, app, person);
    expect(await areAccepted(tokens.access_token)).toBe(true);
    expect((await revoke(app, tokens[kind])).status).toBe(200);
    expect(await die(tokens.access_token)).toBe(true);
    expect(await errorOf(await refresh(auth, app, tokens.refresh_token))).toBe(ENDED);
  });

  test("of an unknown or another client's token is 200 and changes nothing", async () => {
    const [app, other] = [await auth.newApp(person), await auth.newApp(person)];
    const tokens = await tokensFor(auth, app, person);
    expect((await revoke(other, tokens.access_token)).status).toBe(200);
    expect((await revoke(other, tokens.refresh_token)).status).toBe(200);
    expect((await revoke(app, "f".repeat(64))).status).toBe(200);
    expect(await areAccepted(tokens.access_token)).toBe(true);
    expect((await revoke(app, person.token)).status).toBe(200);
    expect((await world.as(person.token).get("/v4/profile")).status).toBe(200);
  });

  test("requires the secret of a confidential client", async () => {
    const app = await auth.newApp(person);
    const tokens = await tokensFor(auth, app, person);
    expect((await revoke(app, tokens.access_token, { client_secret: "" })).status).toBe(401);
    expect(await areAccepted(tokens.access_token)).toBe(true);
  });

  test("under /profile/apps ends the app's tokens", async () => {
    const app = await auth.newApp(person, { label: "One to shut out" });
    const tokens = await tokensFor(auth, app, person);
    expect(await areAccepted(tokens.access_token)).toBe(true);
    const apps = await person.get<{ data: { id: number; label: string }[] }>("/v4/profile/apps?page_size=500");
    const shown = apps.body.data.find(({ label }) => label === "One to shut out");
    expect((await person.delete(`/v4/profile/apps/${shown?.id}`)).status).toBe(200);
    expect(await die(tokens.access_token)).toBe(true);
    expect(await errorOf(await refresh(auth, app, tokens.refresh_token))).toBe(ENDED);
  });
});
