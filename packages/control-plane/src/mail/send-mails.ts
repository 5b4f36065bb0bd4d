import { sql } from "kysely";
import { createTransport } from "nodemailer";
import { Counter, type Registry } from "prom-client";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import { isLoopback } from "#platform/loopback.ts";
import { createPause } from "#platform/pause.ts";
import type { Sealer } from "#platform/seal.ts";
import { countRecipient, countReset, dayOf, type MailLimits } from "./mail-counts.ts";
import type { MailMessage } from "./mail-message.ts";
import { claimMails, deleteMail, giveUp, type MailRow, openMail, tryAgain } from "./mail-store.ts";
import { addressMail, inviteMail, type Mail, noticeMail, resetMail } from "./write-mail.ts";

type Addressed = { to: string; mail: Mail };
type ToUser = Exclude<MailMessage, { kind: "notice" }>;
type Recipient = NonNullable<Awaited<ReturnType<typeof findRecipient>>>;
type Person = { accountId: number; userId: number };
/** Creates a link by which this person chooses a password, valid for this many hours. */
export type MakePasswordLink = (tx: Tx, person: Person, hours: number) => Promise<string>;

/** Creates a link by which this person confirms an address, valid for this many hours. */
export type MakeAddressLink = (tx: Tx, of: { person: Person; email: string }, hours: number) => Promise<string>;

export type SenderDeps = {
  db: Db;
  clock: Clock;
  log: Log;
  sealer: Sealer;
  smtpUrl: string;
  from: string;
  makePasswordLink: MakePasswordLink;
  makeAddressLink: MakeAddressLink;
  limits: MailLimits;
  registry?: Registry;
};

const INVITE_HOURS = 72;
const RESET_HOURS = 1;
const ADDRESS_HOURS = 24;
const POLL_MS = 500;
const AT_ONCE = 5;
const HOUR_MS = 3_600_000;
/** How long a claim lasts: longer than all time-outs of one delivery together. */
const CLAIM_MS = 5 * 60_000;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 15 * 60_000;
const GIVE_UP_MS = 24 * HOUR_MS;

export type Outcome = "sent" | "failed" | "given_up" | "nobody" | "withheld";

/**
 * Sends the outbox, from any number of workers. At least once: if a sender dies between the mail server's confirmation
 * and the deletion of the row, the mail is sent again with the same Message-ID.
 */
export function createSender(deps: SenderDeps) {
  const { db, clock, log } = deps;
  const transport = createTransport(
    {
      url: deps.smtpUrl,
      pool: true,
      maxConnections: AT_ONCE,
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: 30_000,
      // Some mails contain links that give access to an account. The URL can turn this off, for a network that is safe.
      requireTLS: !isLoopback(new URL(deps.smtpUrl).hostname),
      // Mails contain nothing from files or URLs.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from: deps.from },
  );
  const counted = new Counter({
    name: "moorage_mails_total",
    help: "Attempts to send a mail, by outcome; `nobody`: there is no such user; `withheld`: an address that nobody has confirmed had all mails of the day.",
    labelNames: ["outcome"],
    registers: deps.registry === undefined ? [] : [deps.registry],
  });

  const send = async (row: MailRow): Promise<Outcome> => {
    const message = openMail(deps.sealer, row);
    const written = await write(deps, message, { isFirstTry: row.tries === 1 });
    if (written === "withheld")
      log.info({ mail: row.id, kind: message.kind }, "a mail to an address that nobody has confirmed is withheld");
    if (typeof written !== "string")
      await transport.sendMail({
        ...written.mail,
        to: { name: "", address: written.to },
        messageId: messageId(row.id, deps.from),
      });
    await deleteMail(db, row.id);
    return typeof written === "string" ? written : "sent";
  };

  const deliver = async (row: MailRow): Promise<Outcome> => {
    try {
      return await send(row);
    } catch (error) {
      const [now, why] = [clock(), reasonOf(error)];
      if (now.getTime() - row.created_at.getTime() >= GIVE_UP_MS) {
        log.error({ mail: row.id, tries: row.tries, why }, "a mail could not be sent for a day and is given up");
        await giveUp(db, row.id, now, why);
        return "given_up";
      }
      log.warn({ mail: row.id, tries: row.tries, why }, "a mail could not be sent and is retried later");
      await tryAgain(db, row.id, new Date(now.getTime() + pauseAfter(row.tries)), why);
      return "failed";
    }
  };

  return {
    /** Sends what is due now, and returns the outcome of each. */
    async sendDue(): Promise<Outcome[]> {
      const now = clock();
      const rows = await claimMails(db, now, new Date(now.getTime() + CLAIM_MS), AT_ONCE);
      const outcomes = await Promise.all(rows.map(deliver));
      for (const outcome of outcomes) counted.inc({ outcome });
      return outcomes;
    },
    close: () => transport.close(),
  };
}

export type Sender = ReturnType<typeof createSender>;

/** Polls continuously: people wait at their screen for some of these mails. */
export function startSending(sender: Sender, log: Log): { close(): Promise<void> } {
  let closed = false;
  const { pause, wake } = createPause(POLL_MS);
  const loop = (async () => {
    while (!closed) {
      const outcomes = await sender.sendDue().catch((error: unknown): Outcome[] => {
        log.warn({ err: error }, "the outbox could not be read; its mails stay for the next round");
        return [];
      });
      if (outcomes.length < AT_ONCE) await pause();
    }
  })();
  return {
    async close() {
      closed = true;
      wake();
      await loop;
      sender.close();
    },
  };
}

/** `nobody`: the user does not exist, or no longer. A mail is counted once, however often it is tried. */
async function write(
  deps: SenderDeps,
  message: MailMessage,
  { isFirstTry }: { isFirstTry: boolean },
): Promise<Addressed | "nobody" | "withheld"> {
  if (message.kind === "notice") return { to: message.email, mail: noticeMail(message) };
  const user = await findRecipient(deps.db, message);
  if (user === undefined) return "nobody";
  if (isFirstTry && (await isOverLimit(deps, message, user))) return "withheld";
  return writeTo(user, deps, message);
}

/**
 * Counts a mail to an address that nobody has confirmed: an invitation, a confirmation, and a password link for a user
 * who never accepted the invitation. It depends on the mails of other accounts, so the caller is not told.
 */
async function isOverLimit(
  { db, clock, sealer, limits }: SenderDeps,
  message: ToUser,
  user: Recipient,
): Promise<boolean> {
  if (message.kind === "reset" && user.password_hash !== null) return false;
  const day = dayOf(clock());
  const email = message.kind === "address" ? message.email : user.email;
  return db.transaction().execute(async (tx) => {
    const ofAccount = { accountId: user.account_id, day, most: limits.invitationsPerDay };
    if (message.kind === "reset" && !(await countReset(tx, ofAccount))) return true;
    return !(await countRecipient(tx, sealer, { email, day, most: limits.perRecipient }));
  });
}

async function writeTo(user: Recipient, deps: SenderDeps, message: ToUser): Promise<Addressed> {
  if (message.kind === "address") {
    const link = await deps.db.transaction().execute((tx) => deps.makeAddressLink(tx, message, ADDRESS_HOURS));
    return { to: message.email, mail: addressMail(user, link, ADDRESS_HOURS) };
  }
  const linkFor = (hours: number): Promise<string> =>
    deps.db
      .transaction()
      .execute((tx) => deps.makePasswordLink(tx, { accountId: user.account_id, userId: user.id }, hours));
  const mail =
    message.kind === "invite"
      ? inviteMail({ ...user, company: message.company }, await linkFor(INVITE_HOURS), INVITE_HOURS)
      : resetMail(user, await linkFor(RESET_HOURS), RESET_HOURS);
  return { to: user.email, mail };
}

const findRecipient = (db: Db, message: ToUser) =>
  message.kind === "reset" ? findByName(db, message.name) : findPerson(db, message.person);

/** While an invitation waits, the user may be renamed, get another address, or be deleted. */
const findPerson = (db: Db, { accountId, userId }: Person) =>
  users(db).where("users.account_id", "=", accountId).where("users.id", "=", userId).executeTakeFirst();

/** A name is unique in the installation, without regard to case. */
const findByName = (db: Db, name: string) =>
  users(db).where(sql`lower(users.username)`, "=", name.toLowerCase()).executeTakeFirst();

/** Users of a closed account get no link. */
const users = (db: Db) =>
  db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select(["users.account_id", "users.id", "users.username", "users.email", "users.password_hash"])
    .where("accounts.closed_at", "is", null);

const messageId = (id: number, from: string): string => `<moorage-${id}@${/@([^>\s]+)/.exec(from)?.[1] ?? "moorage"}>`;

/** Only codes: a mail server's messages repeat the address, and sometimes the mail. */
function reasonOf(error: unknown): string {
  const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number };
  const parts = [code, command, responseCode].filter((part) => part !== undefined);
  return parts.length > 0 ? parts.join(" ") : error instanceof Error ? error.name : "unknown";
}

/** 5 s, 10 s, 20 s … up to 15 minutes. */
const pauseAfter = (tries: number): number => Math.min(FIRST_RETRY_MS * 2 ** (tries - 1), LONGEST_RETRY_MS);
