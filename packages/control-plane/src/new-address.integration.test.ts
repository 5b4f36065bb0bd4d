import type { Profile } from "@moorage/contract";
import { startMailServer } from "@moorage/testkit/mail-server.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSender } from "#mail/send-mails.ts";
import { createLog } from "#platform/log.ts";
import { type AuthServer, newAuthServer, PASSWORD } from "#testing/auth-server.ts";
import { newWorld, type World } from "#testing/world.ts";
import { createPasswordLinks } from "#sign-in/choose-password.ts";
import { createAddressLinks } from "#sign-in/confirm-address.ts";
import { texts } from "#sign-in/pages/texts.ts";

let world: World;
let auth: AuthServer;
let server: Awaited<ReturnType<typeof startMailServer>>;
let sender: ReturnType<typeof createSender>;
beforeAll(async () => {
  world = await newWorld();
  auth = await newAuthServer(world);
  server = await startMailServer();
  const { db, clock, sealer } = world;
  const at = { clock, authUrl: auth.authUrl };
  sender = createSender({
    db,
    clock,
    sealer,
    log: createLog("test", "silent"),
    smtpUrl: server.url,
    from: "Moorage <harbour@moorage.test>",
    limits: { invitationsPerDay: 500, perRecipient: 10 },
    makePasswordLink: createPasswordLinks(at),
    makeAddressLink: createAddressLinks(at),
  });
});
afterAll(async () => {
  sender.close();
  await server[Symbol.asyncDispose]();
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

type Customer = Awaited<ReturnType<World["customer"]>>;
const PROFILE = "/v4/profile";
let people = 0;
async function newPerson() {
  const person = await world.customer();
  await auth.setPassword(person);
  return { person, present: `${person.username}@test.example`, next: `next-${++people}@harbour.example` };
}
const signedIn = async ({ username }: Customer) => {
  const visitor = auth.visitor();
  await visitor.get("/security");
  await visitor.submit("/sign-in", { name: username, password: PASSWORD });
  return visitor;
};
const addressOf = async (person: Customer): Promise<string> => (await person.get<Profile>(PROFILE)).body.email;
/** Sends what waits, and returns the subjects and links of one recipient. */
async function mailsTo(address: string) {
  while ((await sender.sendDue()).length > 0);
  const mails = server.mails.filter(({ to }) => to?.some((each) => each.address === address));
  const links = mails.flatMap(({ text }) => /http\S+(\/address\/[0-9a-f]{64})/.exec(text ?? "")?.[1] ?? []);
  return { subjects: mails.map(({ subject }) => subject), link: links.at(-1) ?? "" };
}
async function requested() {
  const someone = await newPerson();
  expect(await someone.person.put(PROFILE, { email: someone.next })).toMatchObject({ status: 200 });
  return { ...someone, link: (await mailsTo(someone.next)).link };
}

test("a new address counts once its user has signed in and confirmed it with the link that was sent there", async () => {
  const { person, present, next, link } = await requested();
  const oldLink = createPasswordLinks({ clock: world.clock, authUrl: auth.authUrl });
  const password = new URL(await world.db.transaction().execute((tx) => oldLink(tx, person, 1))).pathname;
  expect(await addressOf(person)).toBe(present);
  expect((await mailsTo(present)).subjects).toEqual(["A new mail address was entered for you at Moorage"]);
  expect((await mailsTo(next)).subjects).toEqual(["Confirm your Moorage mail address"]);

  const visitor = await signedIn(person);
  const page = await visitor.get(link);
  expect([page.url.pathname, page.html]).toEqual(["/address", expect.stringContaining(next)]);
  expect(await addressOf(person)).toBe(present);
  const seen = await visitor.submit("/address");

  expect(seen).toMatchObject({ status: 200, html: expect.stringContaining(next) });
  expect(await addressOf(person)).toBe(next);
  expect((await mailsTo(present)).subjects).toContain("Your Moorage mail address was changed");
  expect(await auth.visitor().get(password)).toMatchObject({ status: 400 });
  expect((await world.audit()).map(({ action }) => action)).toContain("address_changed");
});

test("a link confirms nothing without its user's recent sign-in, nor for another user", async () => {
  const { person, present, link } = await requested();
  const { person: other } = await newPerson();

  expect((await auth.visitor().get(link)).url.pathname).toMatch(/^\/interaction\//);
  expect(await (await signedIn(other)).get(link)).toMatchObject({
    status: 400,
    html: expect.stringContaining(texts.addressLinkInvalid().text),
  });
  const visitor = await signedIn(person);
  await visitor.get(link);
  const before = world.time.now;
  try {
    // A sign-in has the time of this machine.
    world.time.now = new Date(Date.now() + 11 * 60_000);
    expect((await visitor.submit("/address")).url.pathname).toMatch(/^\/interaction\//);
  } finally {
    world.time.now = before;
  }
  expect(await addressOf(person)).toBe(present);
});

test("a link works once, for 24 hours, and until another address is entered", async () => {
  const { person, link: first, next } = await requested();
  const second = `second-${next}`;
  await person.put(PROFILE, { email: second });
  const { link } = await mailsTo(second);
  const visitor = await signedIn(person);
  expect(await visitor.get(first)).toMatchObject({ status: 400 });

  await world.db.updateTable("address_links").set({ expires_at: world.time.now }).where("email", "=", second).execute();
  expect(await visitor.get(link)).toMatchObject({ status: 400 });
  const tomorrow = new Date(world.time.now.getTime() + 86_400_000);
  await world.db.updateTable("address_links").set({ expires_at: tomorrow }).where("email", "=", second).execute();
  await visitor.get(link);
  expect(await visitor.submit("/address")).toMatchObject({ status: 200 });

  expect(await addressOf(person)).toBe(second);
  expect(await visitor.get(link)).toMatchObject({ status: 400 });
});
