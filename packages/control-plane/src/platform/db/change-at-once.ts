import { step } from "@moorage/crash-points";
import type pg from "pg";
import { type Db, poolOf } from "./database.ts";

/**
 * A change of one statement, in three round trips and one write to disk: begin and take the ids that it assigns, the
 * statement, commit. Because the ids are known beforehand, the statement can hold everything that belongs to the
 * change, including the response for a repeated request. A step: a test can kill the process before it or after its
 * commit.
 */
export const changeAtOnce = <Name extends string, Result>(
  db: Db,
  name: string,
  sequences: Readonly<Record<Name, string>>,
  change: (client: pg.PoolClient, ids: Record<Name, number>) => Promise<Result>,
): Promise<Result> =>
  step(name, async () => {
    const client = await poolOf(db).connect();
    let broken: Error | undefined;
    try {
      const ids = Object.entries<string>(sequences).map(([each, sequence]) => `next_id('${sequence}') as "${each}"`);
      const [, taken] = (await client.query(`begin; select ${ids.join(", ")}`)) as unknown as pg.QueryResult[];
      const result = await change(client, taken?.rows[0] as Record<Name, number>);
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback").catch((cause: Error) => (broken = cause));
      throw error;
    } finally {
      client.release(broken);
    }
  });
