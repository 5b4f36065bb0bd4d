import type { SettingsOf } from "@moorage/contract/settings";
import type { Registry } from "prom-client";
import { createSender, startSending } from "#mail/send-mails.ts";
import type { invitationSettings, mailSettings } from "#mail/settings.ts";
import type { Clock } from "#platform/clock.ts";
import { required } from "#platform/config.ts";
import type { Db } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import type { Sealer } from "#platform/seal.ts";
import type { addressSettings } from "#platform/settings.ts";
import type { Closable } from "#platform/worker-part.ts";
import { createAddressLinks } from "#sign-in/confirm-address.ts";
import { createPasswordLinks } from "#sign-in/choose-password.ts";

type MailDeps = { db: Db; clock: Clock; log: Log; sealer: Sealer; registry: Registry };

/** Sends mails, if a mail server is configured. */
export function composeMail(
  config: SettingsOf<typeof mailSettings & typeof invitationSettings & typeof addressSettings>,
  { db, clock, log, sealer, registry }: MailDeps,
): Closable[] {
  if (config.MOORAGE_SMTP_URL === undefined) {
    log.warn("MOORAGE_SMTP_URL is not set: mails wait. To pass links on by hand: moorage admin user password-link");
    return [];
  }
  const sender = createSender({
    db,
    clock,
    log,
    sealer,
    registry,
    limits: {
      invitationsPerDay: config.MOORAGE_INVITATIONS_PER_DAY,
      perRecipient: config.MOORAGE_MAILS_PER_RECIPIENT,
    },
    smtpUrl: config.MOORAGE_SMTP_URL,
    from: required(config, "MOORAGE_MAIL_FROM"),
    makePasswordLink: createPasswordLinks({ clock, authUrl: required(config, "MOORAGE_AUTH_URL") }),
    makeAddressLink: createAddressLinks({ clock, authUrl: required(config, "MOORAGE_AUTH_URL") }),
  });
  return [startSending(sender, log)];
}
