import { createHash } from "node:crypto";
import { countMissing, parseGtidSet, type SavedErrantTransactions } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import { type ArchivedNode, archivedNode, isOnItsTimeline } from "../../archive/archived-node.ts";
import { activeLog, logsBeyond } from "../../archive/binary-logs.ts";
import { removeSealedLog, sealText } from "../../archive/log-text.ts";
import { lostTransactionsName } from "../../archive/manifest.ts";
import { closeActive } from "../../archive/ship-logs.ts";
import { createUpload } from "../../archive/upload.ts";
import type { NodePaths } from "../../base/host-paths.ts";
import { withRoot } from "../../mysql/node-sql.ts";
import type { MemberContext } from "../member/member-context.ts";
import { timelineRecord, updateTimeline } from "../../specs/node-state.ts";

export const saveErrantSteps = ["upload", "record"].map((name) => `agent.errant.${name}`);

type Context = Pick<MemberContext, "host" | "podman" | "spec" | "paths" | "uploads">;

/** What was saved of these transactions; undefined: nothing yet. */
export async function findSavedErrant(paths: NodePaths, errant: string): Promise<SavedErrantTransactions | undefined> {
  const { errant_transactions } = await timelineRecord(paths);
  return errant_transactions?.errant === errant ? errant_transactions.saved : undefined;
}

/**
 * Uploads the errant transactions to the object store as text, encrypted like the rest of the archive. Only once: what
 * is recorded as saved is not uploaded again. Undefined: this node has no archive.
 */
export async function saveErrant(
  context: Context,
  errant: string,
  signal: AbortSignal,
): Promise<SavedErrantTransactions | undefined> {
  const { host, spec, paths } = context;
  const known = await findSavedErrant(paths, errant);
  const node = archivedNode(host, spec);
  if (known !== undefined || node === undefined) return known;
  if (!(await isOnItsTimeline(node))) throw new Error("The server does not run on the desired timeline.");
  const saved = await step("agent.errant.upload", () => upload(context, node, errant, signal));
  await step("agent.errant.record", () => updateTimeline(paths, { errant_transactions: { errant, saved } }));
  return saved;
}

async function upload(
  context: Context,
  node: ArchivedNode,
  errant: string,
  signal: AbortSignal,
): Promise<SavedErrantTransactions> {
  const { logs, gtid } = await withRoot(node.paths.socket, async (connection) => {
    await closeActive(connection);
    const errantSet = parseGtidSet(errant);
    const hasNone = (before: string): boolean =>
      countMissing(errantSet, parseGtidSet(before)) === countMissing(errantSet, new Map());
    const names = (await logsBeyond(connection, hasNone)).map(({ name }) => name);
    const { name: active } = await activeLog(connection);
    // Transactions that were cloned from another member are in no binary log of this one.
    const [rows] = await connection.query("SELECT GTID_SUBTRACT(?, @@GLOBAL.gtid_purged) AS gtid", [errant]);
    return { logs: [...names, active], gtid: (rows as { gtid: string }[])[0]?.gtid.replaceAll(/\s/g, "") ?? "" };
  });
  const only = `--include-gtids=${errant}`;
  const sealed = await sealText(context, node, { name: "errant", logs: [only, ...logs] }, signal);
  const name = lostTransactionsName(node.spec.cluster?.primary?.term ?? 0, markOf(node, errant));
  const puts = createUpload(context, node, signal);
  try {
    await puts.put(name, sealed);
  } finally {
    await puts.close();
    await removeSealedLog(sealed);
  }
  return { name, gtid, bytes: sealed.bytes, sha256: sealed.sha256 };
}

/** The same for each upload, and different for each member. */
const markOf = ({ spec }: ArchivedNode, errant: string): string =>
  createHash("sha256").update(`${spec.node} ${errant}`).digest("hex").slice(0, 16);
