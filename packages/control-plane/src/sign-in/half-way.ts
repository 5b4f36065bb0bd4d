import type { Db } from "#platform/db/database.ts";
import { findRecord, type RecordDeps, rewriteRecord, saveRecord, takeRecord } from "./record-store.ts";
import type { Person } from "./user-store.ts";

/**
 * The state between password and second factor. It belongs to one interaction and so to one browser, and allows a few
 * attempts: then the password is required again.
 */
const MINUTES = 10;
const MOST_TRIES = 5;
const at = (uid: string) => ({ model: "SignIn", key: uid }) as const;

export const goHalfWay = (db: Db, deps: RecordDeps, uid: string, person: Person): Promise<void> =>
  saveRecord(db, deps, { ...at(uid), person, minutes: MINUTES, payload: { tries: 0 } });

export const whoIsHalfWay = async (db: Db, deps: RecordDeps, uid: string): Promise<Person | undefined> =>
  (await findRecord(db, deps, at(uid)))?.person;

/** Counts an attempt before it is checked, so that concurrent ones cannot exceed the limit. Undefined: start again. */
export const tryFrom = (db: Db, deps: RecordDeps, uid: string): Promise<Person | undefined> =>
  db.transaction().execute(async (tx) => {
    const found = await findRecord(tx, deps, at(uid), "for update");
    if (found?.person === undefined) return undefined;
    const tries = found.payload.tries + 1;
    if (tries > MOST_TRIES) {
      await takeRecord(tx, deps, at(uid));
      return undefined;
    }
    await rewriteRecord(tx, deps, { ...at(uid), payload: { tries } });
    return found.person;
  });

export async function beginAgain(db: Db, deps: RecordDeps, uid: string): Promise<void> {
  await takeRecord(db, deps, at(uid));
}
