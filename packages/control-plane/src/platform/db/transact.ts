import { step } from "@moorage/crash-points";
import type { Db, Tx } from "./database.ts";

/** One transaction, as one step: a test can kill the process before it or after its commit. */
export const transact = <T>(db: Db, name: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
  step(name, () => db.transaction().execute(work));
