import { createHash } from "node:crypto";
import { countMissing, parseGtidSet, type SavedTail } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import { type ArchivedNode, archivedNode, isOnItsTimeline } from "../../archive/archived-node.ts";
import { activeLog, logsBeyond } from "../../archive/binary-logs.ts";
import { removeSealedLog, sealText } from "../../archive/log-text.ts";
import { tailName } from "../../archive/manifest.ts";
import { closeActive } from "../../archive/ship-logs.ts";
import { createUpload } from "../../archive/upload.ts";
import type { NodePaths } from "../../host-paths.ts";
import { withRoot } from "../../mysql/node-sql.ts";
import type { NodeContext } from "../../node-context.ts";
import { timelineRecord, updateTimeline } from "../../node-state.ts";

export const tailSteps = ["upload", "record"].map((name) => `agent.tail.${name}`);

type Context = Pick<NodeContext, "host" | "podman" | "spec" | "paths" | "uploads" | "superseded">;

/** What was saved of these transactions; undefined: nothing yet. */
export async function savedTail(paths: NodePaths, errant: string): Promise<SavedTail | undefined> {
  const { tail } = await timelineRecord(paths);
  return tail?.errant === errant ? tail.saved : undefined;
}

/**
 * The transactions that this member alone has go to the object store, as text, sealed like all of its past. Once: what
 * was written down here as saved is not uploaded again. Undefined: nothing is kept of this node.
 */
export async function saveTail(context: Context, errant: string): Promise<SavedTail | undefined> {
  const { host, spec, paths } = context;
  const known = await savedTail(paths, errant);
  const node = archivedNode(host, spec);
  if (known !== undefined || node === undefined) return known;
  if (!(await isOnItsTimeline(node))) throw new Error("The server does not run on the wanted timeline.");
  const saved = await untilSuperseded(context, (signal) =>
    step("agent.tail.upload", () => upload(context, node, errant, signal)),
  );
  await step("agent.tail.record", () => updateTimeline(paths, { tail: { errant, saved } }));
  return saved;
}

async function upload(context: Context, node: ArchivedNode, errant: string, signal: AbortSignal): Promise<SavedTail> {
  const { logs, gtid } = await withRoot(node.paths.socket, async (connection) => {
    await closeActive(connection);
    const wanted = parseGtidSet(errant);
    const hasNone = (before: string): boolean =>
      countMissing(wanted, parseGtidSet(before)) === countMissing(wanted, new Map());
    const names = (await logsBeyond(connection, hasNone)).map(({ name }) => name);
    const { name: active } = await activeLog(connection);
    // What came with another member's data is in no log of this one.
    const [rows] = await connection.query("SELECT GTID_SUBTRACT(?, @@GLOBAL.gtid_purged) AS gtid", [errant]);
    return { logs: [...names, active], gtid: (rows as { gtid: string }[])[0]?.gtid.replaceAll(/\s/g, "") ?? "" };
  });
  const only = `--include-gtids=${errant}`;
  const sealed = await sealText(context, node, { name: "tail", logs: [only, ...logs] }, signal);
  const name = tailName(node.spec.cluster?.leader?.term ?? 0, markOf(node, errant));
  const puts = createUpload(context, node, signal);
  try {
    await puts.put(name, sealed);
  } finally {
    await puts.close();
    await removeSealedLog(sealed);
  }
  return { name, gtid, bytes: sealed.bytes, sha256: sealed.sha256 };
}

/** The same each time it is uploaded, and no other member's. */
const markOf = ({ spec }: ArchivedNode, errant: string): string =>
  createHash("sha256").update(`${spec.node} ${errant}`).digest("hex").slice(0, 16);

const lookEveryMs = 500;

/** However long it takes, it must not hold up what is wanted next. */
async function untilSuperseded<T>({ superseded }: Context, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const end = new AbortController();
  const look = setInterval(() => superseded() && end.abort(new Error("There is a newer spec.")), lookEveryMs);
  try {
    return await work(end.signal);
  } finally {
    clearInterval(look);
  }
}
