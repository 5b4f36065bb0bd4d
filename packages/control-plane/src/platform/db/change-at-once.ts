import { step } from "@moorage/crash-points";
import type pg from "pg";
import { type Db, poolOf } from "./database.ts";

/**
 * A change that is one statement, in three round trips and one write to the disk: begin and take the ids that it gives
 * out, the statement, commit. With its ids known beforehand, the statement can hold all that belongs to the change, up
 * to the answer that a repeated request will get. A step that a test can kill before it or after its commit.
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
