import { sql } from "kysely";
import pg from "pg";
import type { Log } from "#platform/log.ts";
import type { Db } from "./database.ts";

/** `relay`: operations or signals wait. `host`: what a host should run changed (payload: its id). */
export type Channel = "relay" | "host";

/**
 * Tells other processes that there is something to read. Called after a commit, never inside a transaction (there it
 * would serialise all commits of the server), and never relied on: who listens also polls.
 */
export async function notify(db: Db, channel: Channel, payload = ""): Promise<void> {
  await sql`select pg_notify(${channel}, ${payload})`.execute(db);
}

/** Sends at most one notification at a time, and one more if asked meanwhile: a burst costs two. */
export function createNudge(db: Db, channel: Channel, log: Log): () => void {
  let state: "idle" | "sending" | "again" = "idle";
  const send = (): void => {
    state = "sending";
    notify(db, channel)
      .catch((error: unknown) => log.warn({ err: error }, "nudge failed; the poll will find it"))
      .finally(() => {
        if (state === "again") send();
        else state = "idle";
      });
  };
  return () => {
    if (state === "idle") send();
    else state = "again";
  };
}

/** Listens until closed, and connects again whenever the connection is lost. */
export function listen(
  url: string,
  channel: Channel,
  log: Log,
  heard: (payload: string) => void,
): { close(): Promise<void> } {
  let closed = false;
  let client: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  const connect = async (): Promise<void> => {
    const own = new pg.Client({ connectionString: url });
    client = own;
    own.on("notification", ({ payload }) => heard(payload ?? ""));
    own.on("error", (error) => log.warn({ err: error }, "listen connection lost"));
    own.on("end", again);
    await own.connect();
    await own.query(`listen ${pg.escapeIdentifier(channel)}`);
    heard(""); // whatever was said while nobody listened
  };
  const again = (): void => {
    if (closed || retry !== undefined) return;
    retry = setTimeout(() => {
      retry = undefined;
      connect().catch(again);
    }, 500);
  };
  connect().catch(again);
  return {
    async close() {
      closed = true;
      clearTimeout(retry);
      await client?.end().catch(() => {});
    },
  };
}
