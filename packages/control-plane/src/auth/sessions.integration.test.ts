import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { sha256 } from "#platform/sha256.ts";
import {
  type App,
  type Auth,
  type AuthBrowser,
  authorize,
  authorizePath,
  codeFor,
  startAuth,
  tokensFor,
} from "../testing/auth.ts";
import { countWaiting } from "../testing/count-waiting.ts";
import { newWorld, type World } from "../testing/world.ts";
import { endSessions } from "./sessions.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;

let world: World;
let auth: Auth;
let person: Customer;
beforeAll(async () => {
  world = await newWorld();
  auth = await startAuth(world);
  person = await world.customer();
});
afterAll(async () => {
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const queryOf = (app: App, scope: string) => ({ client_id: app.id, response_type: "code", scope, state: "s" });
const promptsOf = async (browser: AuthBrowser, app: App, scope: string, who = person): Promise<string[]> =>
  (await authorize(browser, who, queryOf(app, scope))).shown.map(({ prompt }) => prompt);
const whoIn = async (browser: AuthBrowser): Promise<{ person?: object; uid?: string }> => {
  const reply = await browser.get("/whoami");
  return reply.headers.get("content-type")?.includes("json") === true ? ((await reply.json()) as object) : {};
};
const sessionCookie = (browser: AuthBrowser): string | undefined =>
  browser.cookies().find(([name]) => name === "moorage-session")?.[1];

describe("consent", () => {
  test("is required once per session, and again when the app requests more", async () => {
    const [app, browser] = [await auth.newApp(person), auth.browser()];
    expect(await promptsOf(browser, app, "databases:read_write")).toEqual(["sign-in", "consent"]);
    expect(await promptsOf(browser, app, "databases:read_write")).toEqual([]);
    expect(await promptsOf(browser, app, "databases:read_only")).toEqual([]);
    expect(await promptsOf(browser, app, "databases:read_write images:read_only")).toEqual(["consent"]);
    expect(await promptsOf(browser, await auth.newApp(person), "databases:read_only")).toEqual(["consent"]);
  });

  test("is required each time where another program may listen at the redirect address", async () => {
    const browser = auth.browser();
    for (const redirect_uri of ["http://127.0.0.1/back", "com.example.app:/back"]) {
      const app = await auth.newApp(person, { redirect_uri });
      const query = queryOf(app, "databases:read_only");
      for (let times = 0; times < 2; times++)
        expect((await authorize(browser, person, query)).shown.map(({ prompt }) => prompt)).toContain("consent");
    }
  });

  test("grants exactly what was shown, and the app is listed with it", async () => {
    const app = await auth.newApp(person, { label: "Listed" });
    const { shown } = await authorize(auth.browser(), person, queryOf(app, "linodes:*,events:read_only"));
    expect(shown.at(-1)).toMatchObject({
      prompt: "consent",
      app: { id: app.id, label: "Listed", thumbnailUrl: null, redirectsTo: app.redirectUri },
      scopes: ["computes:read_write", "events:read_only"],
      person: { accountId: person.accountId, userId: person.userId },
    });
    const grant = await world.db
      .selectFrom("app_grants")
      .selectAll()
      .where("client_id", "=", app.id)
      .executeTakeFirstOrThrow();
    expect(grant.scopes).toEqual(["computes:read_write", "events:read_only"]);
    expect((await world.audit()).at(-1)).toMatchObject({
      action: "app_grant_create",
      target: `oauth_client/${app.id}`,
      account_id: person.accountId,
    });
  });

  test("that is refused grants nothing", async () => {
    const app = await auth.newApp(person);
    await authorize(auth.browser(), person, queryOf(app, "events:read_only"), "refuse");
    expect(await world.db.selectFrom("app_grants").where("client_id", "=", app.id).execute()).toEqual([]);
  });

  test("lasts as long as what was issued from it", async () => {
    const app = await auth.newApp(person);
    const daysLeft = async (): Promise<number> => {
      const grants = world.db.selectFrom("app_grants").select("expires_at").where("client_id", "=", app.id);
      return ((await grants.executeTakeFirstOrThrow()).expires_at.getTime() - Date.now()) / 86_400_000;
    };
    const { code, verifier } = await codeFor(auth, app, person);
    expect(await daysLeft()).toBeLessThan(0.01);
    const form = { client_id: app.id, client_secret: app.secret, code, code_verifier: verifier };
    await auth.post("/oauth/token", new URLSearchParams(form));
    expect(await daysLeft()).toBeCloseTo(14, 1);
  });
});

describe("an interaction", () => {
  test("belongs to one browser", async () => {
    const app = await auth.newApp(person);
    const reply = await auth.browser().get(authorizePath(queryOf(app, "images:read_only")));
    const at = new URL(reply.headers.get("location") ?? "", auth.url).pathname;
    const other = auth.browser();
    expect((await other.get(at)).status).toBe(404);
    const form = { accountId: String(person.accountId), userId: String(person.userId) };
    expect((await other.post(`${at}/sign-in`, form)).status).toBe(400);
  });

  test("lets its form redirect to the requesting app only", async () => {
    for (const [redirect_uri, source] of [
      ["https://app.example.com/oauth/back", "https://app.example.com"],
      ["http://127.0.0.1:4711/back", "http://127.0.0.1:4711"],
      ["com.example.app:/back", "com.example.app:"],
    ]) {
      const app = await auth.newApp(person, { redirect_uri });
      const browser = auth.browser();
      const reply = await browser.get(authorizePath(queryOf(app, "images:read_only")));
      const page = await browser.get(reply.headers.get("location") ?? "");
      expect(page.headers.get("content-security-policy")).toContain(`form-action 'self' ${source};`);
    }
  });

  test("cannot be consented to before somebody signed in", async () => {
    const app = await auth.newApp(person);
    const browser = auth.browser();
    const reply = await browser.get(authorizePath(queryOf(app, "images:read_only")));
    const at = new URL(reply.headers.get("location") ?? "", auth.url).pathname;
    expect((await browser.post(`${at}/consent`)).status).toBe(400);
  });
});

describe("a session", () => {
  const signedIn = async (who = person, browser = auth.browser()): Promise<AuthBrowser> => {
    await authorize(browser, who, queryOf(await auth.newApp(who), "images:read_only"));
    return browser;
  };
  const whose = ({ accountId, userId }: Customer) => ({ person: { accountId, userId } });

  test("starts with a new id, whatever cookie was sent", async () => {
    const browser = auth.browser();
    const app = await auth.newApp(person);
    await authorize(browser, person, queryOf(app, "images:read_only"));
    const first = sessionCookie(browser);
    await authorize(browser, person, { ...queryOf(app, "images:read_only"), prompt: "login" });
    expect(sessionCookie(browser)).not.toBe(first);
    const former = world.db.selectFrom("auth_records").where("key_sha256", "=", sha256(first ?? ""));
    expect(await former.execute()).toEqual([]);
    expect(await whoIn(browser)).toMatchObject(whose(person));
  });
  test("of one person ends when another signs in, who gets none of its apps", async () => {
    const browser = auth.browser();
    const app = await auth.newApp(person);
    const other = await world.customer();
    await authorize(browser, person, queryOf(app, "images:read_only"));
    const { uid } = await whoIn(browser);
    const query = { ...queryOf(app, "images:read_only"), prompt: "login" };
    const { shown, back } = await authorize(browser, other, query);
    expect(shown.map(({ prompt }) => prompt)).toEqual(["sign-in", "consent"]);
    expect(back?.searchParams.get("code")).not.toBeNull();
    const now = await whoIn(browser);
    expect(now).toMatchObject(whose(other));
    expect(now.uid).not.toBe(uid);
    const left = world.db.selectFrom("auth_records").where("uid_sha256", "=", sha256(uid ?? ""));
    expect(await left.execute()).toEqual([]);
  });

  test("ends when a person signs out, and apps keep their access", async () => {
    const browser = await signedIn();
    const tokens = await tokensFor(auth, await auth.newApp(person), person);
    const page = (await (await browser.get("/logout")).json()) as { action: string; fields: Record<string, string> };
    expect((await browser.post(page.action, { ...page.fields, xsrf: "wrong" })).status).toBe(400);
    expect(await whoIn(browser)).toMatchObject(whose(person));
    const reply = await browser.post(page.action, page.fields);
    expect([reply.status, reply.headers.get("location")]).toEqual([303, `${auth.url}/logout/success`]);
    expect(await (await browser.get("/logout/success")).text()).toBe("signed out");
    expect(await whoIn(browser)).toEqual({});
    expect(await (await browser.get("/logout")).text()).toBe("signed out");
    expect((await world.as(tokens.access_token).get("/v4/profile")).status).toBe(200);
  });

  test("ends with all others of its person except the named one", async () => {
    const [here, there, elsewhere] = [await signedIn(), await signedIn(), await signedIn(await world.customer())];
    const { uid } = await whoIn(here);
    await world.db.transaction().execute((tx) => endSessions(tx, person, uid));
    expect([await whoIn(here), await whoIn(there)]).toMatchObject([whose(person), {}]);
    await world.db.transaction().execute((tx) => endSessions(tx, person));
    expect(await whoIn(here)).toEqual({});
    expect(await whoIn(elsewhere)).toHaveProperty("person");
  });

  test("that is ended during a request is not stored again", async () => {
    const browser = await signedIn();
    const app = await auth.newApp(person);
    const lock = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    // The request reads the session, and blocks where it would write it.
    const ending = world.db.transaction().execute(async (tx) => {
      await tx.selectFrom("auth_records").select("model").where("model", "=", "Session").forUpdate().execute();
      held.resolve();
      await lock.promise;
      await endSessions(tx, person);
    });
    await held.promise;
    const under = browser.get(authorizePath(queryOf(app, "events:read_only")));
    await vi.waitFor(async () => expect(await countWaiting(world)).toBe(1), { timeout: 60_000, interval: 20 });
    lock.resolve();
    await Promise.all([ending, under]);
    expect(await whoIn(browser)).toEqual({});
  });
});

describe("our own pages", () => {
  test("sign in without consent and without a token, and redirect back", async () => {
    const browser = auth.browser();
    const before = await world.db.selectFrom("app_grants").select("id").execute();
    const query = Object.fromEntries(new URL(auth.interactions.signInAt("/security?a=b"), auth.url).searchParams);
    const { reply, shown } = await authorize(browser, person, query);
    expect(shown.map(({ prompt, app }) => [prompt, app])).toEqual([["sign-in", undefined]]);
    expect(new URL(reply.url).pathname).toBe("/security");
    expect(await whoIn(browser)).toMatchObject({ person: { userId: person.userId } });
    expect(await world.db.selectFrom("app_grants").select("id").execute()).toEqual(before);
    const again = Object.fromEntries(
      new URL(auth.interactions.signInAt("/security", { again: true }), auth.url).searchParams,
    );
    expect((await authorize(browser, person, again)).shown.map(({ prompt }) => prompt)).toEqual(["sign-in"]);
  });

  test.each(["https://evil.example/", "//evil.example/", "/\\evil.example", "/\t/evil.example", "evil"])(
    "do not redirect to %j",
    async (state) => {
      const reply = await auth.browser().get(`/signed-in?state=${encodeURIComponent(state)}`);
      expect(reply.headers.get("location")).toBe("/security");
    },
  );
});

test("no secret is stored in the database in clear", async () => {
  const browser = auth.browser();
  const app = await auth.newApp(person);
  const { code } = await codeFor(auth, app, person, {}, browser);
  const tokens = await tokensFor(auth, app, person);
  const waiting = await browser.get(authorizePath(queryOf(app, "account:read_only")));
  const uid = waiting.headers.get("location")?.split("/").at(-1) ?? "";
  const secrets = [code, tokens.access_token, tokens.refresh_token, app.secret, uid, sessionCookie(browser) ?? ""];
  const tables = ["auth_records", "tokens", "app_grants", "oauth_clients", "signing_keys", "audit"] as const;
  const rows = await Promise.all(tables.map((table) => world.db.selectFrom(table).selectAll().execute()));
  const dump = JSON.stringify(rows, (_key, value: unknown) =>
    typeof value === "object" && value !== null && "type" in value && value.type === "Buffer"
      ? Buffer.from((value as unknown as { data: number[] }).data).toString("latin1")
      : value,
  );
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(20);
    expect(dump).not.toContain(secret);
  }
  expect(dump).not.toContain('"d"');
});
