import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { MailMessage } from "./mail-message.ts";
import { saveMail } from "./mail-store.ts";

type Of<Kind extends MailMessage["kind"]> = Omit<Extract<MailMessage, { kind: Kind }>, "kind">;

/** Puts letters into the outbox, in the transaction of the change that they tell of. The worker sends them. */
export type Mails = {
  /** To a new user: a link to choose a password by. */
  invite(tx: Tx, to: Of<"invite">): Promise<void>;
  notice(tx: Tx, about: Of<"notice">): Promise<void>;
  /** Somebody asks for a new password. Whether anybody has that name is found out when the letter is sent. */
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
