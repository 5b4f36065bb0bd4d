import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Connection, RowDataPacket } from "mysql2/promise";
import type { NodePaths } from "../host-paths.ts";

export type ClosedLog = { name: string; sequence: number; gtid: string; closed_at: string };

const numberOf = (name: string): number => Number(/\.(\d+)$/.exec(name)?.[1]);

/** The server waits for all that is being written to a log before it says how long it is. */
export async function activeLog(connection: Connection): Promise<{ name: string; isEmpty: boolean }> {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW BINARY LOG STATUS");
  const name = String(rows[0]?.["File"]);
  const { end } = await prologue(connection, name);
  return { name, isEmpty: Number(rows[0]?.["Position"]) <= end };
}

/** A log begins with what all logs before it held. */
async function prologue(connection: Connection, name: string): Promise<{ gtids: string; end: number }> {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW BINLOG EVENTS IN ? LIMIT 3", [name]);
  const previous = rows.find((row) => row["Event_type"] === "Previous_gtids");
  if (previous === undefined) throw new Error(`${name} does not say what was before it.`);
  return { gtids: String(previous["Info"]).replaceAll(/\s/g, ""), end: Number(previous["End_log_pos"]) };
}

/** Those after a number, in their order, except the one that is being written. */
export async function closedLogs(connection: Connection, paths: NodePaths, after: number): Promise<ClosedLog[]> {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW BINARY LOGS");
  const names = rows.map((row) => String(row["Log_name"]));
  const closed: ClosedLog[] = [];
  for (const [index, name] of names.entries()) {
    const next = names[index + 1];
    if (next === undefined || numberOf(name) <= after) continue;
    const { gtids } = await prologue(connection, next);
    closed.push({ name, sequence: numberOf(name), gtid: gtids, closed_at: await closedAt(paths, name) });
  }
  return closed;
}

/**
 * A log is last written to when it is closed, under the lock that also orders commits: whatever was committed before is in
 * it or in an earlier one. The kernel's file times lag by a tick, never lead.
 */
export const closedAt = async (paths: NodePaths, name: string): Promise<string> =>
  new Date(Math.floor((await stat(join(paths.data, name))).mtimeMs)).toISOString();

/** Returns what was purged: every closed log up to `last` that was closed before `until`. */
export async function purgeLogs(
  connection: Connection,
  paths: NodePaths,
  { last, until }: { last: number; until: Date },
): Promise<string[]> {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW BINARY LOGS");
  const names = rows.map((row) => String(row["Log_name"]));
  const purged: string[] = [];
  for (const name of names.slice(0, -1)) {
    if (numberOf(name) > last || Date.parse(await closedAt(paths, name)) > until.getTime()) break;
    purged.push(name);
  }
  if (purged.length > 0) await connection.query("PURGE BINARY LOGS TO ?", [names[purged.length]]);
  return purged;
}
