import { createHash } from "node:crypto";
import {
  type ArchiveEnd,
  countMissing,
  formatGtidSet,
  type GtidSet,
  gtidsOfGroup,
  parseGtidSet,
  PROTOCOL,
  uniteGtidSets,
} from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import type { Connection } from "mysql2/promise";
import { GatewayRefused } from "../gateway/gateway.ts";
import { withRoot } from "../mysql/node-sql.ts";
import { cutLog } from "./cut-log.ts";
import { type ArchivedNode, isOnItsTimeline, readArchiveState, updateArchiveState } from "./archived-node.ts";
import { hasLogsBefore, logsBeyond, type MemberLog, type OldLog, purgeLogs } from "./binary-logs.ts";
import { isInLine, memberTime } from "./archived-time.ts";
import { removeSealedLog, sealLog } from "./log-text.ts";
import { closeActive, purgedUntil, recordShipped, type ShipDeps, uploadSealed } from "./ship-logs.ts";
import { reportArchived, type ReportArchivedDeps } from "./report-archived.ts";
import { createUpload, type Upload } from "./upload.ts";

/**
 * Ships the cluster's transactions that are not in the archive yet, whichever member archived the earlier ones. The
 * gateway is asked each time where the archive ends, as a GTID set: every member numbers its own logs.
 */
export async function shipMemberLogs(
  deps: ShipDeps,
  node: ArchivedNode,
  signal: AbortSignal,
  requested: boolean,
): Promise<void> {
  if (!(await isOnItsTimeline(node))) throw new Error("The server does not run on the desired timeline.");
  await reportLeftOver(deps, node, signal);
  const time = await completeUntil(deps, node, requested);
  const { beyond, hasGap, ...begun } = await withRoot(node.paths.socket, (connection) =>
    closeAndList(deps, node, connection, signal),
  );
  let { archived } = begun;
  const upload = createUpload(deps, node, signal);
  try {
    for (const log of beyond) {
      const after = await ship(deps, node, { log, archived }, upload, signal);
      // Report only the first log after the gap: another member may have the missing transactions.
      if (hasGap && after !== archived) break;
      archived = after;
    }
  } finally {
    await upload.close();
  }
  await reportArchived(deps, node, { at: time, requested }, signal);
}

/** A member whose group does not answer can still ship its logs. */
async function completeUntil(deps: ShipDeps, node: ArchivedNode, requested: boolean): Promise<string | undefined> {
  const time = withRoot(node.paths.socket, (connection) => memberTime(deps, node, connection));
  return requested ? time : time.catch(() => undefined);
}

async function closeAndList(deps: ShipDeps, node: ArchivedNode, connection: Connection, signal: AbortSignal) {
  await step("agent.ship.close", () => closeActive(connection));
  // Checked after the close: what arrives from now on is in the next log.
  if (!(await isInLine(node, connection)))
    throw new Error("This member does not replicate from the primary: its transactions may not be the cluster's.");
  const archived = ofGroup(node, (await archiveEnd(deps, node, signal)).gtid);
  const beyond = await logsBeyond(connection, (gtids) => countMissing(ofGroup(node, gtids), archived) === 0);
  const hasGap = countMissing(ofGroup(node, beyond[0]?.previous ?? ""), archived) > 0;
  return { archived, beyond, hasGap };
}

/** Each timeline has its own group, whose name is the source of its GTIDs. */
const ofGroup = ({ spec, data }: ArchivedNode, gtids: string): GtidSet =>
  gtidsOfGroup(parseGtidSet(gtids), spec.cluster?.group ?? data.timeline);

/** Reports logs uploaded by an agent that died. If the gateway refuses them, the archive's end is checked again. */
async function reportLeftOver(deps: ShipDeps, node: ArchivedNode, signal: AbortSignal): Promise<void> {
  if ((await readArchiveState(node, deps.clock())).unreported.logs.length === 0) return;
  try {
    await reportArchived(deps, node, { at: undefined }, signal);
  } catch (error) {
    if (error instanceof GatewayRefused)
      await updateArchiveState(node, deps.clock(), ({ unreported }) => ({ unreported: { ...unreported, logs: [] } }));
    throw error;
  }
}

/** Where the archive of the timeline ends, whichever member archived last. */
async function archiveEnd(deps: ReportArchivedDeps, node: ArchivedNode, signal: AbortSignal): Promise<ArchiveEnd> {
  const { node: id } = node.spec;
  const { timeline } = node.data;
  const { nodes = [] } = await deps.archived({ protocol: PROTOCOL, nodes: [{ node: id, timeline }] }, signal);
  const end = nodes.find((each) => each.node === id && each.timeline === timeline);
  if (end === undefined) throw new GatewayRefused("The gateway did not report where the archive ends.");
  const { newest_copy, unreported } = await readArchiveState(node, deps.clock());
  const isNewer = end.newest_copy !== undefined && (newest_copy === undefined || end.newest_copy > newest_copy);
  // No copy at the gateway: the archive branched, and the earlier copy is of another branch. Unless it is unreported.
  const isBranched = end.newest_copy === undefined && newest_copy !== undefined && unreported.copies.length === 0;
  if (isNewer || isBranched) await updateArchiveState(node, deps.clock(), () => ({ newest_copy: end.newest_copy }));
  return end;
}

/** Returns the archived GTIDs afterwards. A log's GTIDs are read from its text, not derived from the next log. */
async function ship(
  deps: ShipDeps,
  node: ArchivedNode,
  { log, archived }: { log: MemberLog; archived: GtidSet },
  upload: Upload,
  signal: AbortSignal,
): Promise<GtidSet> {
  const { stream, seen } = cutLog(undefined);
  const sealed = await sealLog(deps, node, log.name, signal, stream);
  const { gtids, lastCommitted } = seen();
  const executed = uniteGtidSets(parseGtidSet(log.previous), gtids);
  const after = uniteGtidSets(archived, ofGroup(node, formatGtidSet(executed)));
  if (lastCommitted === undefined || countMissing(after, archived) === 0) {
    await removeSealedLog(sealed);
    return archived;
  }
  const name = objectNameOf(node, log);
  await step("agent.ship.upload", () => uploadSealed(upload, name, sealed));
  await recordShipped(deps, node, {
    name,
    sequence: log.number,
    previous: log.previous,
    gtid: formatGtidSet(executed),
    closed_at: justAfter(lastCommitted),
    bytes: sealed.bytes,
    sha256: sealed.sha256,
  });
  return after;
}

/** Unique per server and per clone of its data; the same for each upload of one log. */
const objectNameOf = ({ spec }: ArchivedNode, { name, previous }: MemberLog): string =>
  `${name}.${createHash("sha256").update(`${spec.node} ${previous}`).digest("hex").slice(0, 16)}`;

/**
 * A member's log covers the time up to its last transaction, by the primary's clock. The member may have closed the log
 * well after that.
 */
const justAfter = (microseconds: bigint): string => new Date(Number(microseconds / 1000n) + 1).toISOString();

/** Purges only what is in the archive, whichever member shipped it. `all`: also the newest logs, to free disk space. */
export async function purgeMemberLogs(deps: ShipDeps, node: ArchivedNode, all: boolean): Promise<string[]> {
  if (!(await isOnItsTimeline(node))) return [];
  const until = purgedUntil(deps, all);
  return withRoot(node.paths.socket, async (connection) => {
    if (!(await hasLogsBefore(connection, node.paths, until))) return [];
    const archived = ofGroup(node, (await archiveEnd(deps, node, AbortSignal.timeout(10_000))).gtid);
    const mayGo = async ({ executed }: OldLog): Promise<boolean> =>
      countMissing(ofGroup(node, await executed()), archived) === 0;
    return step("agent.ship.purge", () => purgeLogs(connection, node.paths, { mayGo, until }));
  });
}
