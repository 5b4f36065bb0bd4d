import { createTransport } from "nodemailer";
import { Counter, type Registry } from "prom-client";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import { createPause } from "#platform/pause.ts";
import type { Sealer } from "#platform/seal.ts";
import type { MailMessage } from "./mail-message.ts";
import {
  claimMails,
  deleteMail,
  findByName,
  findPerson,
  giveUp,
  type MailRow,
  openMail,
  tryAgain,
} from "./mail-store.ts";
import { inviteMail, type Mail, noticeMail, resetMail } from "./write-mail.ts";

type Person = { accountId: number; userId: number };
/** Creates a link by which this person chooses a password, valid for this many hours. */
export type MakePasswordLink = (tx: Tx, person: Person, hours: number) => Promise<string>;

export type SenderDeps = {
  db: Db;
  clock: Clock;
  log: Log;
  sealer: Sealer;
  smtpUrl: string;
  from: string;
  makePasswordLink: MakePasswordLink;
  registry?: Registry;
};

const INVITE_HOURS = 72;
const RESET_HOURS = 1;
const POLL_MS = 500;
const AT_ONCE = 5;
const HOUR_MS = 3_600_000;
/** How long a claim lasts: longer than all time-outs of one delivery together. */
const CLAIM_MS = 5 * 60_000;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 15 * 60_000;
const GIVE_UP_MS = 24 * HOUR_MS;

export type Outcome = "sent" | "failed" | "given_up" | "nobody";

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
    help: "Attempts to send a mail, by outcome; `nobody`: there is no such user.",
    labelNames: ["outcome"],
    registers: deps.registry === undefined ? [] : [deps.registry],
  });

  const send = async (row: MailRow): Promise<Outcome> => {
    const addressed = await address(deps, openMail(deps.sealer, row));
    if (addressed === undefined) {
      await deleteMail(db, row.id);
      return "nobody";
    }
    const { to, mail } = addressed;
    await transport.sendMail({ ...mail, to: { name: "", address: to }, messageId: messageId(row.id, deps.from) });
    await deleteMail(db, row.id);
    return "sent";
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

/** The recipient and the text. Undefined: the user does not exist, or no longer. */
async function address(deps: SenderDeps, message: MailMessage): Promise<{ to: string; mail: Mail } | undefined> {
  if (message.kind === "notice") return { to: message.email, mail: noticeMail(message) };
  const user = await (message.kind === "invite"
    ? findPerson(deps.db, message.person)
    : findByName(deps.db, message.name));
  if (user === undefined) return undefined;
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

const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(host);

/** 5 s, 10 s, 20 s … up to 15 minutes. */
const pauseAfter = (tries: number): number => Math.min(FIRST_RETRY_MS * 2 ** (tries - 1), LONGEST_RETRY_MS);

const messageId = (id: number, from: string): string => `<moorage-${id}@${/@([^>\s]+)/.exec(from)?.[1] ?? "moorage"}>`;

/** Only codes: a mail server's messages repeat the address, and sometimes the mail. */
function reasonOf(error: unknown): string {
  const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number };
  const parts = [code, command, responseCode].filter((part) => part !== undefined);
  return parts.length > 0 ? parts.join(" ") : error instanceof Error ? error.name : "unknown";
}
