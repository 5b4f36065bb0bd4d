import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { Letter } from "./letter.ts";
import { saveLetter } from "./mail-store.ts";

type Of<Kind extends Letter["kind"]> = Omit<Extract<Letter, { kind: Kind }>, "kind">;

/** Puts letters into the outbox, in the transaction of the change that they tell of. The worker sends them. */
export type Letters = {
  /** To a new user: a link to choose a password by. */
  invite(tx: Tx, to: Of<"invite">): Promise<void>;
  notice(tx: Tx, about: Of<"notice">): Promise<void>;
  /** Somebody asks for a new password. Whether anybody has that name is found out when the letter is sent. */
  resetRequested(db: Db | Tx, of: Of<"reset">): Promise<void>;
};

export function createLetters({ sealer, clock }: { sealer: Sealer; clock: Clock }): Letters {
  const put = (db: Db | Tx, letter: Letter): Promise<void> => saveLetter(db, sealer, letter, clock());
  return {
    invite: (tx, to) => put(tx, { kind: "invite", ...to }),
    notice: (tx, about) => put(tx, { kind: "notice", ...about }),
    resetRequested: (db, of) => put(db, { kind: "reset", ...of }),
  };
}
