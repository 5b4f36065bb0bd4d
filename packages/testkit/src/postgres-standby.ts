import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { initData, newServerFolder, NOBODY, serve, urlAt } from "./postgres-server.ts";
import { until } from "./until.ts";

/**
 * A primary and an asynchronous standby behind one address, as a proxy in front of a failover pair offers it. The
 * address is a symbolic link to the socket's folder.
 */
export async function startPrimaryAndStandby() {
  const { folder, remove } = newServerFolder();
  const [primaryAt, standbyAt, address] = ["a", "b", "at"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const dataOf = (at: string): string => join(at, "data");
  const start = (at: string) =>
    serve({
      folder: at,
      data: dataOf(at),
      listen: { listen_addresses: "", unix_socket_directories: at },
      url: urlAt(at, "postgres"),
    });
  for (const at of [primaryAt, standbyAt]) {
    mkdirSync(at);
    chownSync(at, NOBODY, NOBODY);
  }
  const point = (to: string): void => {
    symlinkSync(to, `${address}.new`);
    renameSync(`${address}.new`, address);
  };

  await initData(primaryAt, dataOf(primaryAt));
  execFileSync("cp", ["--archive", dataOf(primaryAt), dataOf(standbyAt)]);
  writeFileSync(join(dataOf(standbyAt), "standby.signal"), "");
  writeFileSync(
    join(dataOf(standbyAt), "postgresql.auto.conf"),
    `primary_conninfo = 'host=${primaryAt} user=postgres'\nwal_retrieve_retry_interval = 100\n`,
  );
  const primary = await start(primaryAt);
  const standby = await start(standbyAt);
  point(primaryAt);

  const ask = async <Row extends object>(at: string, statement: string): Promise<Row> => {
    const client = new pg.Client({ connectionString: urlAt(at, "postgres") });
    await client.connect();
    try {
      return (await client.query<Row>(statement)).rows[0] as Row;
    } finally {
      await client.end();
    }
  };
  let isPromoted = false;
  return {
    /** Of the server that is primary now. */
    urlOf: (database: string): string => urlAt(address, database),
    /** Everything that was committed until now is on the standby. */
    async untilReplicated(): Promise<void> {
      const { lsn } = await ask<{ lsn: string }>(primaryAt, "select pg_current_wal_insert_lsn()::text as lsn");
      await until("the standby has replayed everything", 60, async () => {
        return (await ask<{ has: boolean }>(standbyAt, `select pg_last_wal_replay_lsn() >= '${lsn}' as has`)).has;
      });
    },
    /** What is committed from now on will be lost. */
    async cutReplication(): Promise<void> {
      await ask(standbyAt, "alter system set primary_conninfo = ''");
      await ask(standbyAt, "select pg_reload_conf()");
      await until("the standby receives nothing any more", 60, async () => {
        return (await ask<{ n: number }>(primaryAt, "select count(*)::int as n from pg_stat_replication")).n === 0;
      });
    },
    async promote(): Promise<void> {
      await primary.kill();
      await ask(standbyAt, "select pg_promote(true, 600)");
      point(standbyAt);
      isPromoted = true;
    },
    async stop(): Promise<void> {
      await standby.kill();
      if (!isPromoted) await primary.kill();
      remove();
    },
  };
}
