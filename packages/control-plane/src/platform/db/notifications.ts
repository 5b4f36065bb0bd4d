import { sql } from "kysely";
import pg from "pg";
import type { Log } from "#platform/log.ts";
import type { Db } from "./database.ts";

/**
 * `relay`: operations or signals wait. `host`: the desired state of a host changed (payload: its id). `identity`: a
 * token, user or grant changed.
 */
export type Channel = "relay" | "host" | "identity";

/**
 * Notifies other processes that there is something to read. Called after a commit, never inside a transaction (there it
 * would serialise all commits of the server), and never relied on: listeners also poll, or expire what they cache.
 */
export async function notify(db: Db, channel: Channel, payload = ""): Promise<void> {
  await sql`select pg_notify(${channel}, ${payload})`.execute(db);
}

/** Sends at most one notification at a time, and one more if requested meanwhile: a burst costs two. */
export function createNudge(db: Db, channel: Channel, log: Log): () => void {
  let state: "idle" | "sending" | "again" = "idle";
  const send = (): void => {
    state = "sending";
    notify(db, channel)
      .catch((error: unknown) =>
        log.warn({ err: error }, "a database notification could not be sent; the next poll replaces it"),
      )
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

export type Listener = {
  onNotification(payload: string): void;
  /** Notifications may have been missed while disconnected. Called first, and after every loss. */
  onConnect(): void;
  /** The connection is lost, or has not answered for longer than a notification may be late. */
  onDisconnect?(): void;
};

/** A connection can be cut without notice: it is probed this often, and has as long to answer. */
const PROOF_MS = 400;
const RETRY_MS = 250;

/** Listens until closed, and reconnects whenever the connection is lost. */
export function listen(url: string, channel: Channel, log: Log, listener: Listener): { close(): Promise<void> } {
  let closed = false;
  let current: pg.Client | undefined;

  const listenOnce = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    current = client;
    const lost = new Promise<void>((resolve) => {
      client.on("error", () => resolve());
      client.on("end", () => resolve());
    });
    client.on("notification", ({ payload }) => listener.onNotification(payload ?? ""));
    try {
      await client.connect();
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      listener.onConnect();
      while (!closed && (await answers(client, lost))) await Promise.race([pause(PROOF_MS), lost]);
    } finally {
      listener.onDisconnect?.();
      // Not awaited: a connection that is cut cannot answer.
      client.end().catch(() => {});
      if (current === client) current = undefined;
    }
  };

  const loop = (async () => {
    while (!closed) {
      await listenOnce().catch((error: unknown) =>
        log.warn({ err: error, channel }, "listening to database notifications failed and is retried"),
      );
      if (!closed) await pause(RETRY_MS);
    }
  })();
  return {
    async close() {
      closed = true;
      // Not awaited: a connection that is cut cannot answer. The loop ends by itself within the time of a probe.
      current?.end().catch(() => {});
      await loop;
    },
  };
}

async function answers(client: pg.Client, lost: Promise<void>): Promise<boolean> {
  const answered = client.query("select 1").then(
    () => true,
    () => false,
  );
  return Promise.race([answered, lost.then(() => false), pause(PROOF_MS).then(() => false)]);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
