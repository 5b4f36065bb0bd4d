import type { Registry } from "prom-client";
import { createSender, startSending } from "#mail/send-mails.ts";
import type { Clock } from "#platform/clock.ts";
import { type Config, required } from "#platform/config.ts";
import type { Db } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import type { Sealer } from "#platform/seal.ts";
import type { Closable } from "#platform/worker-part.ts";
import { createPasswordLinks } from "#sign-in/password-links.ts";

type MailDeps = { db: Db; clock: Clock; log: Log; sealer: Sealer; registry: Registry };

/** Sends mails, if a mail server is configured. */
export function composeMail(config: Config, { db, clock, log, sealer, registry }: MailDeps): Closable[] {
  if (config.MOORAGE_SMTP_URL === undefined) {
    log.warn("MOORAGE_SMTP_URL is not set: mails wait. To pass links on by hand: moorage user password-link");
    return [];
  }
  const sender = createSender({
    db,
    clock,
    log,
    sealer,
    registry,
    smtpUrl: config.MOORAGE_SMTP_URL,
    from: required(config, "MOORAGE_MAIL_FROM"),
    makePasswordLink: createPasswordLinks({ clock, authUrl: required(config, "MOORAGE_AUTH_URL") }),
  });
  return [startSending(sender, log)];
}
