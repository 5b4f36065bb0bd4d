import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { MailMessage } from "./mail-message.ts";
import { saveMail } from "./mail-store.ts";

type Of<Kind extends MailMessage["kind"]> = Omit<Extract<MailMessage, { kind: Kind }>, "kind">;

/** Queues mails in the outbox, in the transaction of the change that they report. The worker sends them. */
export type Mails = {
  /** Sends a new user a link to choose a password. */
  invite(tx: Tx, to: Of<"invite">): Promise<void>;
  notice(tx: Tx, about: Of<"notice">): Promise<void>;
  /** A password reset was requested. Whether the name exists is checked when the mail is sent. */
  resetRequested(db: Db | Tx, of: Of<"reset">): Promise<void>;
};

export function createMails({ sealer, clock }: { sealer: Sealer; clock: Clock }): Mails {
  const put = (db: Db | Tx, message: MailMessage): Promise<void> => saveMail(db, sealer, message, clock());
  return {
    invite: (tx, to) => put(tx, { kind: "invite", ...to }),
    notice: (tx, about) => put(tx, { kind: "notice", ...about }),
    resetRequested: (db, of) => put(db, { kind: "reset", ...of }),
  };
}
