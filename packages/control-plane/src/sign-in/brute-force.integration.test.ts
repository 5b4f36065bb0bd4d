import { randomBytes } from "node:crypto";
import { trials } from "@moorage/testkit/turns.ts";
import type { Visitor } from "@moorage/testkit/visitor.ts";
import { TOTP } from "otpauth";
import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { newAuthServer, PASSWORD } from "#testing/auth-server.ts";
import { newValkey } from "#testing/valkey.ts";
import { newWorld } from "#testing/world.ts";
import { createPasswords } from "./passwords.ts";
import { createThrottle } from "./throttle.ts";

const GUESSES = trials({ short: 250, all: 1000 });
const [ATTACKER, OWNER] = ["203.0.113.66", "198.51.100.7"];

/**
 * A production setup, which also counts the passwords that were really compared. Its limits see one moment, so that none
 * of them refills while a slow machine works through the attempts.
 */
async function newTarget() {
  const world = await newWorld();
  const valkey = await newValkey();
  const compared = { count: 0 };
  const passwords = createPasswords();
  const limits = { now: Date.now() };
  const now = (): number => limits.now;
  const auth = await newAuthServer(world, {
    throttle: createThrottle({ shared: await valkey.limits({ now }), log: createLog("test", "silent"), now }),
    passwords: {
      ...passwords,
      matches(kept, password) {
        compared.count++;
        return passwords.matches(kept, password);
      },
    },
  });
  const customer = await world.customer();
  await auth.setPassword(customer);
  const signIn = async (ip: string, name = customer.username) => {
    const visitor = auth.visitor(ip);
    await visitor.get("/security");
    return { visitor, seen: await visitor.submit("/sign-in", { name, password: PASSWORD }) };
  };
  return {
    world,
    auth,
    customer,
    compared,
    limits,
    signIn,
    async [Symbol.asyncDispose]() {
      await auth[Symbol.asyncDispose]();
      await valkey[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

test(`of ${GUESSES} wrong passwords from one address five are checked, and the owner signs in from another`, async () => {
  await using target = await newTarget();
  const { world, auth, customer, compared, signIn } = target;
  const attacker = auth.visitor(ATTACKER);
  const page = await attacker.get("/security");
  const hidden = attacker.form("/sign-in")?.hidden;
  const statuses: Record<number, number> = {};
  const waits: number[] = [];
  for (let n = 0; n < GUESSES; n++) {
    const fields = { ...hidden, name: customer.username, password: `guess number ${n}` };
    const { status, headers } = await attacker.post(`${page.url.pathname}/sign-in`, fields);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 429) waits.push(Number(headers.get("retry-after")));
  }
  console.log(`passwords: ${GUESSES} tried, ${compared.count} compared, answers ${JSON.stringify(statuses)}`);
  expect(statuses).toEqual({ 400: 5, 429: GUESSES - 5 });
  expect(compared.count).toBe(5);
  expect(Math.min(...waits)).toBeGreaterThan(0);
  // Rate-limited attempts are recorded too, but do not fill the table.
  const { rows } = await world.db
    .selectFrom("logins")
    .select(({ fn }) => fn.countAll<number>().as("rows"))
    .where("username", "=", customer.username)
    .where("status", "=", "failed")
    .executeTakeFirstOrThrow();
  expect(rows).toBeGreaterThan(60);
  expect(rows).toBeLessThan(GUESSES);

  // Even the right one is not checked from there, and the answer says when to try again.
  const refused = await signIn(ATTACKER);
  expect(refused.seen).toMatchObject({ status: 429, html: expect.stringContaining("Try again in 2 minutes") });
  expect((await signIn(OWNER)).seen.url.pathname).toBe("/security");
  // An unknown name has the same limits.
  const nobody = auth.visitor(ATTACKER);
  await nobody.get("/security");
  const others = [];
  for (let n = 0; n < 7; n++) {
    await nobody.get("/security");
    others.push((await nobody.submit("/sign-in", { name: "nobody-at-all", password: "guess" })).status);
  }
  expect(others).toEqual([400, 400, 400, 400, 400, 429, 429]);
});

const DEVICE = "moorage-device";
const deviceOf = (visitor: Visitor): string => visitor.cookies().find(({ name }) => name === DEVICE)?.value ?? "";
type Target = Awaited<ReturnType<typeof newTarget>>;

/** One attempt in the name of the customer, by a browser that also sends this as its device. */
async function attempt({ auth, customer }: Target, ip: string, password: string, device?: string): Promise<number> {
  const visitor = auth.visitor(ip);
  const page = await visitor.get("/security");
  const cookies = visitor.cookies().map(({ name, value }) => `${name}=${value}`);
  const cookie = [...cookies, ...(device === undefined ? [] : [`${DEVICE}=${device}`])].join("; ");
  const fields = { ...visitor.form("/sign-in")?.hidden, name: customer.username, password };
  return (await visitor.post(`${page.url.pathname}/sign-in`, fields, { cookie })).status;
}

/** Ten networks guess until a right password is not read either. */
async function useUp(target: Target): Promise<void> {
  for (let round = 0; round < 4; round++, target.limits.now += 10 * 60_000)
    for (let n = 0; n < 50; n++) await attempt(target, `203.0.113.${100 + (n % 10)}`, "a guess");
  target.limits.now -= 10 * 60_000;
  expect(await attempt(target, "192.0.2.77", PASSWORD)).toBe(429);
}

test("ten networks use up a user's limit: the owner signs in from a known device, and a forged one gets no try", async () => {
  await using target = await newTarget();
  const { auth, customer, compared, signIn, world } = target;
  const owner = await signIn(OWNER);
  const device = deviceOf(owner.visitor);
  const another = await world.customer();
  await auth.setPassword(another);
  const stranger = await signIn("203.0.113.100", another.username);
  await useUp(target);
  const before = compared.count;

  expect(await attempt(target, "203.0.113.100", "a guess", randomBytes(32).toString("hex"))).toBe(429);
  expect(await attempt(target, "203.0.113.100", "a guess", deviceOf(stranger.visitor))).toBe(429);
  expect(compared.count).toBe(before);

  // Without the session, in the same browser. From the network of an attacker, too.
  await world.db.deleteFrom("auth_records").where("model", "=", "Session").execute();
  await owner.visitor.get("/security");
  const seen = await owner.visitor.submit("/sign-in", { name: customer.username, password: PASSWORD });
  expect(seen.url.pathname).toBe("/security");
  // A wrong password is wrong there as well, and the secret is another with each sign-in.
  const next = deviceOf(owner.visitor);
  expect(next).not.toBe(device);
  expect(await attempt(target, OWNER, PASSWORD, device)).toBe(429);
  const guesses = [];
  for (let n = 0; n < 8; n++) guesses.push(await attempt(target, "203.0.113.101", "a guess", next));
  expect(guesses).toEqual([400, 400, 400, 400, 400, 429, 429, 429]);
});

test("signing out everywhere and a new password end devices; a known device still needs the second factor", async () => {
  await using target = await newTarget();
  const { world, customer, limits, signIn } = target;
  const [first, second] = [await signIn(OWNER), await signIn("198.51.100.8")];
  await useUp(target);

  await second.visitor.get("/security");
  const password = "four quiet boats at dawn";
  await second.visitor.submit("/security/password", { password, again: password });
  expect(await attempt(target, OWNER, password, deviceOf(first.visitor))).toBe(429);
  const kept = deviceOf(second.visitor);
  expect(await attempt(target, OWNER, "a guess", kept)).toBe(400);
  await second.visitor.get("/security");
  await second.visitor.submit("/security/sign-out-everywhere");
  expect(await attempt(target, OWNER, password, kept)).toBe(429);

  limits.now += 86_400_000;
  const again = target.auth.visitor(OWNER);
  await again.get("/security");
  await again.submit("/sign-in", { name: customer.username, password });
  const { body } = await customer.post<{ secret: string }>("/v4/profile/tfa-enable", {});
  const tfa_code = new TOTP({ secret: body.secret }).generate({ timestamp: world.time.now.getTime() });
  await customer.post("/v4/profile/tfa-enable-confirm", { tfa_code });
  await world.db.deleteFrom("auth_records").where("model", "=", "Session").execute();
  await again.get("/security");
  const half = await again.submit("/sign-in", { name: customer.username, password });
  expect(half.html).toContain("Second step");
});

test(`of ${GUESSES} wrong codes with the right password five are checked, and the owner signs in from another`, async () => {
  await using target = await newTarget();
  const { world, customer, signIn } = target;
  const codeAt = (secret: string, seconds: number): string =>
    new TOTP({ secret }).generate({ timestamp: world.time.now.getTime() + seconds * 1000 });
  const { body } = await customer.post<{ secret: string }>("/v4/profile/tfa-enable", {});
  await customer.post("/v4/profile/tfa-enable-confirm", { tfa_code: codeAt(body.secret, -30) });
  const right = [-30, 0, 30].map((seconds) => codeAt(body.secret, seconds));

  let tried = 0;
  let lookedAt = 0;
  while (tried < GUESSES) {
    const { visitor, seen } = await signIn(ATTACKER);
    expect(seen.html).toContain("Second step");
    const form = visitor.form("/code");
    for (let n = 0; n < 5; n++, tried++) {
      const guess = String(tried).padStart(6, "0");
      const code = right.includes(guess) ? "999999" : guess;
      const answer = await visitor.post(form?.action ?? "", { ...form?.hidden, code });
      expect([400, 429]).toContain(answer.status);
      if (answer.status === 400) lookedAt++;
    }
  }
  console.log(`codes: ${tried} tried, ${lookedAt} looked at`);
  expect(lookedAt).toBe(5);

  const thief = await signIn(ATTACKER);
  expect((await thief.visitor.submit("/code", { code: right[1] as string })).status).toBe(429);
  const owner = await signIn(OWNER);
  expect((await owner.visitor.submit("/code", { code: right[1] as string })).url.pathname).toBe("/security");
});

test("one network that tries many names is stopped as well, with an IPv6 network counted as one", async () => {
  await using target = await newTarget();
  const { auth } = target;
  const statuses = [];
  const visitors = Array.from({ length: 35 }, (_, n) => auth.visitor(`2001:db8:1:2::${n + 1}`));
  for (const [n, visitor] of visitors.entries()) {
    await visitor.get("/security");
    statuses.push((await visitor.submit("/sign-in", { name: `name-${n}`, password: "Summer in the harbour" })).status);
  }
  expect(statuses.filter((status) => status === 400)).toHaveLength(30);
  expect(statuses.slice(-5)).toEqual([429, 429, 429, 429, 429]);
});

test("signing in restores the whole budget", async () => {
  await using target = await newTarget();
  const { auth, customer, signIn } = target;
  const statuses = [];
  for (let round = 0; round < 3; round++) {
    const visitor = auth.visitor(OWNER);
    for (let n = 0; n < 4; n++) {
      await visitor.get("/security");
      statuses.push((await visitor.submit("/sign-in", { name: customer.username, password: "mistyped" })).status);
    }
    expect((await signIn(OWNER)).seen.url.pathname).toBe("/security");
  }
  expect(new Set(statuses)).toEqual(new Set([400]));
});

test("twenty guesses of device codes are checked, and a device that polls too often must slow down", async () => {
  await using target = await newTarget();
  const { auth } = target;
  const attacker = auth.visitor(ATTACKER);
  const statuses: Record<number, number> = {};
  for (let n = 0; n < 60; n++) {
    await attacker.get("/device");
    const { status } = await attacker.submit("/device", { user_code: `BBBB-${"BCDFGHJKLM"[n % 10]}BBB` });
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  expect(statuses[429]).toBe(40);
  // Somebody elsewhere can type theirs.
  const owner = auth.visitor(OWNER);
  await owner.get("/device");
  expect((await owner.submit("/device", { user_code: "BBBB-BBBB" })).html).toContain("There is no such code");

  const post = async (path: string, form: Record<string, string>) =>
    fetch(`${auth.authUrl}${path}`, {
      method: "POST",
      body: new URLSearchParams({ client_id: "moorage-cli", ...form }),
      headers: { "x-forwarded-for": OWNER },
    });
  const startDevice = () => post("/oauth/device_authorization", { scope: "*" });
  const { device_code } = (await (await startDevice()).json()) as { device_code: string };
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const polls = [];
  for (let n = 0; n < 4; n++)
    polls.push(((await (await post("/oauth/token", { grant_type, device_code })).json()) as { error: string }).error);
  expect(polls.slice(0, 2)).toEqual(["authorization_pending", "authorization_pending"]);
  expect(polls).toContain("slow_down");
  const started = [];
  for (let n = 0; n < 40; n++) started.push((await startDevice()).status);
  expect(started.filter((status) => status === 200)).toHaveLength(29);
  expect(started.at(-1)).toBe(429);
});
