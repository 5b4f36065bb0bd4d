import { stat } from "node:fs/promises";
import { join } from "node:path";
import { formatGtidSet, parseGtidSet, uniteGtidSets } from "@moorage/contract/agent";
import type { Connection, RowDataPacket } from "mysql2/promise";
import type { NodePaths } from "../base/host-paths.ts";
import { logNameOf } from "./log-name.ts";

/** A binary log of a cluster member; `previous` is the set of GTIDs executed before it. */
export type MemberLog = { name: string; number: number; previous: string };
export type ClosedLog = { name: string; sequence: number; gtid: string; closed_at: string };

const numberOf = (name: string): number => Number(/\.(\d+)$/.exec(name)?.[1]);

/** The server waits for writes in progress before it reports the log's position. */
export async function activeLog(connection: Connection): Promise<{ name: string; isEmpty: boolean }> {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW BINARY LOG STATUS");
  const name = logNameOf(rows[0]?.["File"]);
  const { end } = await prologue(connection, name);
  return { name, isEmpty: Number(rows[0]?.["Position"]) <= end };
}

/** The Previous_gtids event at a log's start: the GTIDs of all earlier logs. */
async function prologue(connection: Connection, name: string): Promise<{ gtids: string; end: number }> {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW BINLOG EVENTS IN ? LIMIT 3", [name]);
  const previous = rows.find((row) => row["Event_type"] === "Previous_gtids");
  if (previous === undefined) throw new Error(`${name} has no event with the previous GTIDs.`);
  return { gtids: String(previous["Info"]).replaceAll(/\s/g, ""), end: Number(previous["End_log_pos"]) };
}

/** The logs after a number, in order, without the active one. */
export async function closedLogs(connection: Connection, paths: NodePaths, after: number): Promise<ClosedLog[]> {
  const names = await logNames(connection);
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
 * A member's logs that may hold transactions not in the archive, in order: from the newest back to the first whose
 * previous GTIDs are all archived. Without the active log.
 */
export async function logsBeyond(connection: Connection, isArchived: (gtids: string) => boolean): Promise<MemberLog[]> {
  const names = await logNames(connection);
  const unlogged = await unloggedGtids(connection);
  const before = async (name: string): Promise<string> => united([(await prologue(connection, name)).gtids, unlogged]);
  const logs: MemberLog[] = [];
  let executed = await before(names.at(-1) ?? "");
  for (const name of names.slice(0, -1).reverse()) {
    if (isArchived(executed)) break;
    executed = await before(name);
    logs.unshift({ name, number: numberOf(name), previous: executed });
  }
  return logs;
}

const united = (gtids: string[]): string => formatGtidSet(uniteGtidSets(...gtids.map(parseGtidSet)));

/** Transactions that a clone brought are in none of the member's logs, nor in their Previous_gtids. */
async function unloggedGtids(connection: Connection): Promise<string> {
  const [rows] = await connection.query<RowDataPacket[]>("SELECT @@GLOBAL.gtid_purged AS gtids");
  return String(rows[0]?.["gtids"]);
}

const logNames = async (connection: Connection): Promise<string[]> => {
  const [rows] = await connection.query<RowDataPacket[]>("SHOW BINARY LOGS");
  return rows.map((row) => logNameOf(row["Log_name"]));
};

export async function hasLogsBefore(connection: Connection, paths: NodePaths, until: Date): Promise<boolean> {
  const [oldest, next] = await logNames(connection);
  return oldest !== undefined && next !== undefined && Date.parse(await closedAt(paths, oldest)) <= until.getTime();
}

/**
 * The last write to a log is its close, under the lock that orders commits: everything committed before that is in
 * this log or an earlier one. The kernel's file times lag by at most a tick and never lead.
 */
export const closedAt = async (paths: NodePaths, name: string): Promise<string> =>
  new Date(Math.floor((await stat(join(paths.data, name))).mtimeMs)).toISOString();

/** Purges the oldest logs closed before `until`, up to the first that `mayGo` refuses. Returns their names. */
export async function purgeLogs(
  connection: Connection,
  paths: NodePaths,
  { mayGo, until }: { mayGo: (log: OldLog) => Promise<boolean>; until: Date },
): Promise<string[]> {
  const names = await logNames(connection);
  const purged: string[] = [];
  for (const [index, name] of names.slice(0, -1).entries()) {
    if (Date.parse(await closedAt(paths, name)) > until.getTime()) break;
    const executed = async () => (await prologue(connection, names[index + 1] ?? "")).gtids;
    if (!(await mayGo({ number: numberOf(name), executed }))) break;
    purged.push(name);
  }
  if (purged.length > 0) await connection.query("PURGE BINARY LOGS TO ?", [names[purged.length]]);
  return purged;
}

/** `executed`: the GTIDs executed by the end of the log. */
export type OldLog = { number: number; executed: () => Promise<string> };
