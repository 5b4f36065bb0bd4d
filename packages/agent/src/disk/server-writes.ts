import { mkdir, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { despiteLocks } from "../mysql/despite-locks.ts";
import { withRoot } from "../mysql/node-sql.ts";
import { diskDecision, type DiskFacts } from "./disk-decision.ts";
import { readIfThere, writeDurably } from "../base/durable-file.ts";
import type { NodePaths } from "../base/host-paths.ts";
import { settings } from "../mysql/settings.ts";
import { mb } from "../node/volume.ts";

export const serverWrites = (socket: string): Promise<DiskFacts["server"]> =>
  withRoot(socket, async (connection) => {
    const [[row]] = await connection.query<RowDataPacket[]>({
      sql: `SELECT @@GLOBAL.read_only AS readOnly, COALESCE(MAX(member_state <> 'OFFLINE'), 0) AS groupMember,
          COALESCE(MAX(member_state = 'ONLINE' AND member_role = 'PRIMARY'), 0) AND NOT @@GLOBAL.super_read_only AS isPrimary
        FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid`,
      timeout: 5000,
    });
    return (
      row && {
        readOnly: row["readOnly"] === 1,
        groupMember: row["groupMember"] === 1,
        isPrimary: row["isPrimary"] === 1,
      }
    );
  }).catch(() => undefined);

/**
 * `SET GLOBAL read_only = OFF` could make a member writable that its group made read-only in the same moment. A
 * switchover makes the group itself open the new primary and close this one.
 */
export const handOver = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    const [[other]] = await connection.query<RowDataPacket[]>(
      `SELECT member_id AS id FROM performance_schema.replication_group_members
       WHERE member_state = 'ONLINE' AND member_role = 'SECONDARY' ORDER BY member_id LIMIT 1`,
    );
    if (other === undefined) throw new Error("No other member is online to become the primary.");
    await connection.query("SELECT group_replication_set_as_primary(?)", [other["id"]]);
  });

/**
 * `read_only`, not `super_read_only`: tenants lack the privilege to bypass it, and the agent must be able to set a
 * password on a full database. The server waits for running statements; those that do not end within 1 s, such as one
 * that copies a whole table, are the ones that fill the disk, and are killed.
 */
export const closeToWrites = (socket: string): Promise<void> => close(socket, "read_only", 1);

/** For a former primary: not even its own host may write to it. */
export const closeToEverybody = (socket: string): Promise<void> => close(socket, "super_read_only");

const close = (socket: string, variable: "read_only" | "super_read_only", waitSeconds?: number): Promise<void> =>
  withRoot(socket, async (connection) => {
    await despiteLocks(connection, () => connection.query(`SET GLOBAL ${variable} = ON`), waitSeconds);
  });

export const openToWrites = (socket: string): Promise<void> =>
  withRoot(socket, async (connection) => {
    await connection.query("SET GLOBAL read_only = OFF");
  });

type Paths = Pick<NodePaths, "volume" | "folder" | "startUp">;

const closing = {
  open: "",
  closed: "SET GLOBAL read_only = ON;\n",
  /** For a member of a group: only the group makes it writable. */
  group: "SET GLOBAL super_read_only = ON;\n",
};
const textOf = (writes: keyof typeof closing): string =>
  settings.map((each) => `${each};\n`).join("") + closing[writes];

/**
 * The statements that a server executes before it accepts connections: a read-only server is read-only again however it
 * was restarted, and one whose disk is full never accepts a write. The file also persists this state across restarts.
 */
export async function writeStartUp(paths: Paths, planMb: number): Promise<void> {
  const readOnly = (await readIfThere(paths.startUp))?.endsWith(closing.closed) ?? false;
  const space = await spaceOf(paths);
  const full =
    space !== undefined &&
    diskDecision({ planMb, ...space, server: { readOnly, groupMember: false } }).state === "read_only";
  await setStartUp(paths, full ? "closed" : "open");
}

export async function setStartUp({ startUp }: Paths, writes: keyof typeof closing): Promise<void> {
  await mkdir(dirname(startUp), { recursive: true, mode: 0o755 });
  await writeDurably(startUp, textOf(writes), 0o644);
}

export type Space = { usedMb: number; freeMb: number; totalMb: number };

/** Undefined while nothing is mounted: then the mount point is on the same device as its parent. */
export async function spaceOf({ volume, folder }: Pick<NodePaths, "volume" | "folder">): Promise<Space | undefined> {
  const [inside, outside] = await Promise.all([volume, folder].map((path) => stat(path).catch(() => undefined)));
  if (inside === undefined || inside.dev === outside?.dev) return undefined;
  const { blocks, bfree, bsize } = await statfs(volume);
  return {
    usedMb: Math.ceil(((blocks - bfree) * bsize) / mb),
    freeMb: Math.floor((bfree * bsize) / mb),
    totalMb: (blocks * bsize) / mb,
  };
}
