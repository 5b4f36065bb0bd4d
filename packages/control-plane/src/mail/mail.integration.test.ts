import { randomBytes } from "node:crypto";
import { startMailServer } from "@moorage/testkit/mail-server.ts";
import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { newWorld, type World } from "#testing/world.ts";
import { createMails } from "./index.ts";
import { createMailSweep } from "./mail-store.ts";
import { createSender, startSending } from "./send-mails.ts";
import { texts } from "./texts.ts";

const DAY_MS = 86_400_000;
const log = createLog("test", "silent");

/** An outbox, a mail server and a sender between them. Links contain their lifetime. */
async function mailFixture(world: World) {
  const { db, clock, sealer } = world;
  const server = await startMailServer();
  const links: string[] = [];
  const newSender = (smtpUrl = server.url) =>
    createSender({
      db,
      clock,
      log,
      sealer,
      smtpUrl,
      from: "Moorage <harbour@moorage.test>",
      limits: { invitationsPerDay: 3, perRecipient: 3 },
      makePasswordLink: async (_tx, { userId }, hours) => {
        const link = `http://auth.test/password/${randomBytes(32).toString("hex")}?user=${userId}&hours=${hours}`;
        links.push(link);
        return link;
      },
      makeAddressLink: async (_tx, { email }, hours) => `http://auth.test/address/${email}?hours=${hours}`,
    });
  const sender = newSender();
  return {
    mails: createMails({ sealer, clock, invitationsPerDay: 500 }),
    server,
    sender,
    newSender,
    links,
    outbox: () => db.selectFrom("mails").selectAll().execute(),
    later: (ms: number) => {
      world.time.now = new Date(world.time.now.getTime() + ms);
    },
    async [Symbol.asyncDispose]() {
      sender.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function sendAll({ sender }: { sender: ReturnType<typeof createSender> }) {
  const outcomes = [];
  for (let sent = await sender.sendDue(); sent.length > 0; sent = await sender.sendDue()) outcomes.push(...sent);
  return outcomes;
}

const invitationOf = ({ accountId, userId, username }: Awaited<ReturnType<World["customer"]>>) => ({
  person: { accountId, userId },
  username,
  company: 'Fish <b>& "Chips"</b>\r\nBcc: all',
  email: `${username}@test.example`,
});

test("an invitation reaches the new user once, with a link for three days, and leaves the outbox", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const alice = await world.customer();

  await world.db.transaction().execute((tx) => post.mails.invite(tx, invitationOf(alice)));
  expect(await post.sender.sendDue()).toEqual(["sent"]);
  expect(await post.sender.sendDue()).toEqual([]);

  const [mail] = post.server.mails;
  expect(post.server.mails).toHaveLength(1);
  expect(mail).toMatchObject({
    from: { name: "Moorage", address: "harbour@moorage.test" },
    to: [{ address: `${alice.username}@test.example` }],
    subject: texts.inviteSubject().text,
  });
  expect(mail?.text).toContain(`${post.links[0]}\n`);
  expect(post.links).toEqual([expect.stringContaining(`user=${alice.userId}&hours=72`)]);
  expect(await post.outbox()).toEqual([]);
});

test.each(["post@xn--e1afmkfd.xn--p1ai", "a&b/c@test.example", "почта@пример.рф"])(
  "an invitation to %s is delivered",
  async (email) => {
    await using world = await newWorld();
    await using post = await mailFixture(world);
    const alice = await world.customer();
    await world.db.updateTable("users").set({ email }).where("id", "=", alice.userId).execute();

    await world.db.transaction().execute((tx) => post.mails.invite(tx, { ...invitationOf(alice), email }));

    expect(await post.sender.sendDue()).toEqual(["sent"]);
    expect(post.server.mails).toHaveLength(1);
  },
);

// For example the company's name.
test("text chosen by others is escaped, and adds no line and no header", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);

  await world.db.transaction().execute(async (tx) => post.mails.invite(tx, invitationOf(await world.customer())));
  await post.sender.sendDue();

  const [mail] = post.server.mails;
  expect(mail?.html).toContain("Fish &#60;b&#62;&#38; &#34;Chips&#34;&#60;/b&#62; Bcc: all at Moorage");
  expect(mail?.html).not.toMatch(/<b>|<img|src=|http-equiv|<script/);
  expect(mail?.text).toContain('Fish <b>& "Chips"</b> Bcc: all at Moorage');
  expect(mail?.bcc).toBeUndefined();
});

test("a reset is sent to the user with the name, in any case, and to nobody for an unknown name", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const alice = await world.customer();

  await post.mails.resetRequested(world.db, { name: alice.username.toUpperCase() });
  await post.mails.resetRequested(world.db, { name: "nobody-at-all" });

  expect((await post.sender.sendDue()).sort()).toEqual(["nobody", "sent"]);
  expect(post.server.mails).toMatchObject([{ to: [{ address: `${alice.username}@test.example` }] }]);
  expect(post.server.mails[0]?.text).toContain(`hours=1\n`);
  expect(await post.outbox()).toEqual([]);
});

test("users of a closed account get no link, even if the mail was queued before", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const alice = await world.customer();
  const bob = await world.colleague(alice.accountId);
  await post.mails.resetRequested(world.db, { name: alice.username });
  await world.db
    .transaction()
    .execute((tx) =>
      post.mails.invite(tx, { person: bob, email: "b@test.example", username: bob.username, company: "C" }),
    );

  await world.db.updateTable("accounts").set({ closed_at: world.time.now }).execute();

  expect(await post.sender.sendDue()).toEqual(["nobody", "nobody"]);
  expect(post.server.mails).toEqual([]);
});

test("a mail whose transaction was rolled back is not sent", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const change = world.db.transaction().execute(async (tx) => {
    await post.mails.notice(tx, { email: "a@test.example", username: "a", what: "password_changed" });
    throw new Error("no");
  });

  await expect(change).rejects.toThrow("no");
  expect(await post.sender.sendDue()).toEqual([]);
});

test("after a refusal a mail is sent again, not before its time, with the same Message-ID", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  await world.db
    .transaction()
    .execute((tx) => post.mails.notice(tx, { email: "a@test.example", username: "a", what: "tfa_disabled" }));
  const [row] = await post.outbox();
  post.server.refuse(2);

  expect(await post.sender.sendDue()).toEqual(["failed"]);
  expect(await post.sender.sendDue()).toEqual([]);
  expect(await post.outbox()).toMatchObject([{ tries: 1, last_error: "EMESSAGE DATA 451" }]);
  post.later(5_000);
  expect(await post.sender.sendDue()).toEqual(["failed"]);
  post.later(5_000);
  expect(await post.sender.sendDue()).toEqual([]);
  post.later(5_000);
  expect(await post.sender.sendDue()).toEqual(["sent"]);
  expect(post.server.mails).toMatchObject([{ messageId: `<moorage-${row?.id}@moorage.test>` }]);
});

test("a mail that cannot be sent for a day is given up, and deleted after a month", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  await post.mails.resetRequested(world.db, { name: (await world.customer()).username });
  post.server.refuse(100);
  const sweep = createMailSweep(world);

  expect(await post.sender.sendDue()).toEqual(["failed"]);
  post.later(DAY_MS);
  expect(await post.sender.sendDue()).toEqual(["given_up"]);
  post.later(DAY_MS);
  expect(await post.sender.sendDue()).toEqual([]);
  await sweep();
  expect(await post.outbox()).toMatchObject([{ tries: 2, given_up_at: expect.any(Date) }]);
  post.later(29 * DAY_MS);
  await sweep();
  expect(await post.outbox()).toEqual([]);
});

test("an address that nobody has confirmed gets a few mails a day, of all accounts together", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const [alice, bob] = [await world.customer(), await world.customer()];
  const stranger = "stranger@test.example";
  for (const [n, owner] of [alice, bob, alice, bob].entries()) {
    const email = n % 2 === 0 ? stranger : stranger.toUpperCase();
    expect((await owner.post("/v4/account/users", { username: `new-${n}`, email })).status).toBe(200);
  }
  await post.mails.resetRequested(world.db, { name: "new-0" });

  expect((await sendAll(post)).sort()).toEqual(["sent", "sent", "sent", "withheld", "withheld"]);
  expect(post.server.mails).toHaveLength(3);
  expect(JSON.stringify(await world.db.selectFrom("recipient_counts").selectAll().execute())).not.toMatch(/stranger/i);
  post.later(DAY_MS);
  await createMailSweep(world)();
  await post.mails.resetRequested(world.db, { name: "new-0" });
  expect(await sendAll(post)).toEqual(["sent"]);
});

test("password links for users who never accepted their invitation are limited for each account", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const [alice, bob] = [await world.customer(), await world.customer()];
  for (let n = 0; n < 4; n++)
    await post.mails.resetRequested(world.db, { name: (await world.colleague(alice.accountId)).username });
  await post.mails.resetRequested(world.db, { name: bob.username });

  expect((await sendAll(post)).sort()).toEqual(["sent", "sent", "sent", "sent", "withheld"]);
  // They are not taken from the invitations.
  expect((await alice.post("/v4/account/users", { username: "rob", email: "rob@test.example" })).status).toBe(200);
});

test("used-up limits withhold no notice, and no password link of a user who has a password", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const alice = await world.customer();
  const [email, username] = [`${alice.username}@test.example`, alice.username];
  for (let n = 0; n < 5; n++)
    await world.db.transaction().execute((tx) => post.mails.invite(tx, { ...invitationOf(alice), email }));
  expect((await sendAll(post)).filter((outcome) => outcome === "withheld")).toHaveLength(2);

  await world.db.updateTable("users").set({ password_hash: "x" }).execute();
  for (let n = 0; n < 5; n++) {
    await world.db.transaction().execute((tx) => post.mails.notice(tx, { email, username, what: "tfa_disabled" }));
    await post.mails.resetRequested(world.db, { name: username });
  }
  expect(new Set(await sendAll(post))).toEqual(new Set(["sent"]));
  expect(post.server.mails).toHaveLength(13);
});

test("two concurrent senders send each mail once", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const second = post.newSender();
  for (let n = 0; n < 20; n++)
    await world.db
      .transaction()
      .execute((tx) =>
        post.mails.notice(tx, { email: `a${n}@test.example`, username: `a${n}`, what: "passkey_added" }),
      );

  while ((await post.outbox()).length > 0) await Promise.all([post.sender.sendDue(), second.sendDue()]);

  second.close();
  const receivers = post.server.mails.map(({ to }) => to?.[0]?.address);
  expect(receivers).toHaveLength(20);
  expect(new Set(receivers).size).toBe(20);
});

// A link in a mail is as powerful as a password.
test("a remote mail server gets no mail unencrypted", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  // To the kernel this is the local machine; to our code it is a remote address.
  const elsewhere = post.server.url.replace("127.0.0.1", "0.0.0.0");
  const [careful, permissive] = [post.newSender(elsewhere), post.newSender(`${elsewhere}?requireTLS=false`)];
  await post.mails.resetRequested(world.db, { name: (await world.customer()).username });

  expect(await careful.sendDue()).toEqual(["failed"]);
  expect(post.server.mails).toEqual([]);
  expect(await post.outbox()).toMatchObject([{ last_error: expect.stringContaining("ETLS") }]);
  post.later(5_000);
  expect(await permissive.sendDue()).toEqual(["sent"]);
  for (const sender of [careful, permissive]) sender.close();
});

test("mails claimed by a sender that died are sent by another, five minutes later", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  await post.mails.resetRequested(world.db, { name: (await world.customer()).username });
  const { claimMails } = await import("./mail-store.ts");
  const now = world.clock();
  await claimMails(world.db, now, new Date(now.getTime() + 300_000), 5);

  expect(await post.sender.sendDue()).toEqual([]);
  post.later(300_000);
  expect(await post.sender.sendDue()).toEqual(["sent"]);
});

test("the outbox reveals neither recipient nor text, even after a failure", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const alice = await world.customer();
  const to = { email: "secret-address@test.example", username: "secret-name" };
  await world.db.transaction().execute(async (tx) => {
    await post.mails.invite(tx, { ...invitationOf(alice), ...to });
    await post.mails.notice(tx, { ...to, what: "address_changed" });
    await post.mails.resetRequested(tx, { name: "secret-name" });
  });
  post.server.refuse(100);
  await post.sender.sendDue();

  const rows = await post.outbox();
  expect(rows.length).toBeGreaterThan(0);
  const text = JSON.stringify(rows);
  for (const clear of ["secret", "Fish", "invite", "address_changed", "reset", alice.username, ...post.links])
    expect(text).not.toContain(clear);
});

test("a mail is sent after its commit without further action", async () => {
  await using world = await newWorld();
  await using post = await mailFixture(world);
  const sending = startSending(post.newSender(), log);
  await post.mails.resetRequested(world.db, { name: (await world.customer()).username });

  await expect.poll(() => post.server.mails.length, { interval: 10 }).toBe(1);
  await sending.close();
});
