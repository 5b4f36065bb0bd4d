import pg from "pg";
import type { Channel } from "#platform/db/notifications.ts";

/** The payloads on a channel. Unlike a process, it does not reconnect when an answer is late, so it misses none. */
export async function notificationsOf(databaseUrl: string, channel: Channel) {
  const client = new pg.Client({ connectionString: databaseUrl });
  const received: string[] = [];
  client.on("notification", ({ payload }) => received.push(payload ?? ""));
  await client.connect();
  await client.query(`listen ${pg.escapeIdentifier(channel)}`);
  return { received, [Symbol.asyncDispose]: () => client.end() };
}
