import { isFresh, newest, type PrimaryChange, primaryOf, type Views } from "@moorage/contract/agent";
import type { ClusterFile } from "./cluster-file.ts";

/** The server that the proxy forwards to, and what happened since it was last healthy. Wall clock times, in ms. */
export type Note = {
  group: string;
  /** The last primary; `view` and `changes` distinguish several changes within one view. */
  primary?: string;
  view?: string;
  changes: number;
  well?: { at: number; gtid?: string | undefined };
  missedAt?: number;
  elected?: { node: string; at: number };
};

/** Takes the last note and the current views and returns the next note, and the completed change if any: pure. */
export function noteChange(
  cluster: Pick<ClusterFile, "node" | "group" | "members">,
  noted: Note | undefined,
  views: Views,
  now: number,
): { note: Note; change?: PrimaryChange } {
  const before = noted?.group === cluster.group ? noted : { group: cluster.group, changes: 0 };
  const primary = primaryOf(cluster.members, views);
  if (primary === undefined) return { note: before.primary === undefined ? before : missed(before, views, now) };
  const { view, gtid } = newest(primary, views) ?? {};
  const well = { at: now, gtid };
  if (primary === before.primary) return { note: { ...withoutMiss(before), well, ...keepView(before, view) } };
  const changes = before.view === view ? before.changes + 1 : 0;
  const note: Note = { group: cluster.group, primary, changes, well, ...(view !== undefined && { view }) };
  if (before.primary === undefined || view === undefined) return { note };
  return { note, change: changeOf(cluster, missed(before, views, now), note, now) };
}

/** A new view with the same primary restarts the count of changes. */
const keepView = (before: Note, view: string | undefined): Pick<Note, "view" | "changes"> =>
  view === undefined || view === before.view
    ? { changes: before.changes, ...(before.view !== undefined && { view: before.view }) }
    : { view, changes: 0 };

function withoutMiss({ missedAt: _, elected: __, ...note }: Note): Note {
  return note;
}

function missed(before: Note, views: Views, now: number): Note {
  const named = views.find(
    (view) => view.state === "online" && isFresh(view) && view.primary !== undefined && view.primary !== before.primary,
  )?.primary;
  const known = named === undefined || before.elected?.node === named ? before.elected : { node: named, at: now };
  return { ...before, missedAt: before.missedAt ?? now, ...(known !== undefined && { elected: known }) };
}

function changeOf(cluster: Pick<ClusterFile, "node" | "group">, before: Note, after: Note, now: number): PrimaryChange {
  const since = before.well?.at;
  const ms = (at: number | undefined): number | undefined =>
    since === undefined || at === undefined ? undefined : Math.max(0, Math.round(at - since));
  const elected = before.elected?.node === after.primary ? before.elected?.at : undefined;
  const [untilMissed, untilElected, untilLed] = [ms(before.missedAt), ms(elected), ms(now)];
  return {
    node: cluster.node,
    group: cluster.group,
    // A planned change keeps the view: the second change in one view needs another name than the first.
    view: after.changes === 0 ? `${after.view}` : `${after.view}#${after.changes}`,
    ...(before.primary !== undefined && { from: before.primary }),
    to: `${after.primary}`,
    at: new Date(now).toISOString(),
    phases: {
      ...(untilMissed !== undefined && { missed: untilMissed }),
      ...(untilElected !== undefined && { elected: untilElected }),
      ...(untilLed !== undefined && { led: untilLed }),
    },
    ...(before.well?.gtid !== undefined && { gtid_before: before.well.gtid }),
    ...(after.well?.gtid !== undefined && { gtid_after: after.well.gtid }),
  };
}
