import { readIfThere, writeDurably } from "../durable-file.ts";
import type { NodePaths } from "../host-paths.ts";
import { settings } from "../mysql/settings.ts";
import { diskDecision } from "./disk-decision.ts";
import { spaceOf } from "./space-of.ts";

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

export const setStartUp = ({ startUp }: Paths, writes: keyof typeof closing): Promise<void> =>
  writeDurably(startUp, textOf(writes), 0o644);
