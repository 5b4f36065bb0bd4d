import type { DatabaseStatus } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { SILENT_AFTER_MS } from "#fleet/index.ts";
import { texts } from "../model/texts.ts";

/** The wait after a restore elsewhere that failed. */
const AGAIN_SECONDS = 600;

/** A database of one node, and its host. */
export type ObservedDatabase = {
  status: DatabaseStatus;
  /** Undefined: the node was removed with a restore elsewhere that failed. */
  host: { dead: boolean; silentSeconds: number } | undefined;
  /** Its server runs and does not answer. Its host kills it if that lasts. */
  unresponsive: boolean;
  /** An operation is open. `ends`: it may be ended, because it needs the dead host. */
  busy: { ends: boolean } | undefined;
  /** Something of it can be restored. */
  restorable: boolean;
  /** Time since a restore elsewhere failed. */
  failedSeconds: number | undefined;
};

export type NextOfDatabase =
  | "nothing"
  /** Show that it does not serve, or may not. */
  | "degrade"
  /** Its host is back, or its server answers. */
  | "heal"
  /** The open operation needs a host that never returns. */
  | "end operation"
  | "restore elsewhere"
  /** Nothing of it can be restored. */
  | "give up";

/** What follows for a database of one node from the state of its host and server. Pure: others act on it. */
export function nextOfDatabase(database: ObservedDatabase): NextOfDatabase {
  const { status, host, unresponsive, busy } = database;
  if (host === undefined || host.dead) return nextWithoutHost(database);
  if (busy !== undefined) return "nothing";
  const isAway = unresponsive || host.silentSeconds * 1000 >= SILENT_AFTER_MS;
  if (status === "active" && isAway) return "degrade";
  return status === "degraded" && !isAway ? "heal" : "nothing";
}

function nextWithoutHost({ status, busy, restorable, failedSeconds }: ObservedDatabase): NextOfDatabase {
  if (busy !== undefined) return busy.ends ? "end operation" : "nothing";
  if (status !== "active" && status !== "degraded" && status !== "suspended") return "nothing";
  if (!restorable) return "give up";
  if ((failedSeconds ?? AGAIN_SECONDS) >= AGAIN_SECONDS) return "restore elsewhere";
  return status === "active" ? "degrade" : "nothing";
}

/** For the operator: what is wrong with the host of a degraded database of one node, and which command helps. */
export function adviceOnHost({
  host,
  dead,
  failure,
}: {
  host: string | null;
  dead: boolean;
  failure: string | null;
}): Text {
  if (!dead && host !== null) return texts.adviceHostSilent({ host });
  return failure === null ? texts.adviceHostDead() : texts.adviceNotRestored({ why: failure });
}
