import { mayBePrimary, mayServeReads, type MemberView, newest, primaryOf, type Views } from "@moorage/contract/agent";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { proxyPaths } from "../proxy/haproxy-process.ts";
import type { HostPaths } from "../host-paths.ts";
import { readLastPrimary, writeChange, writeLastPrimary } from "./change-files.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { createKnownViews } from "./known-views.ts";
import { type Note, noteChange } from "./note-change.ts";
import { awayView, keepSampling } from "./sample-member.ts";
import { applyVerdicts, type Verdicts, verdictsOf } from "./apply-verdicts.ts";
import type { ClusterViews } from "./views.ts";

const noteEveryMs = 100;

/** A verdict may end sessions: the log shows which member was unreachable, for how long, and its last state. */
function lastSeen({ node, ordinal }: ClusterFile["members"][number], views: Views): object {
  const { state, role, ageMs } = newest(node, views) ?? {};
  return { ordinal, state, role, ageMs };
}

/** One cluster of this host: samples its own member, and takes the others' views from their hosts. */
export function watchCluster(
  first: ClusterFile,
  /** `isSure`: enough members were queried for a negative verdict to be valid. */
  { host, isSure, log }: { host: HostPaths; isSure: () => boolean; log: Logger },
) {
  let file = first;
  const known = createKnownViews();
  const stop = new AbortController();
  const sampled = Promise.withResolvers<void>();
  const running = [
    keepSampling(
      () => file,
      (sample) => {
        known.take(sample);
        sampled.resolve();
      },
      stop.signal,
    ),
    keepNoting(),
  ];

  async function keepNoting(): Promise<void> {
    let note = await readLastPrimary(host, first.node).catch(() => undefined);
    let appliedVerdicts: Verdicts = new Map();
    while (!stop.signal.aborted) {
      const before: Note | undefined = note;
      const views = known.all();
      if (isSure()) {
        const verdicts = verdictsOf(file, views);
        const command = await applyVerdicts(proxyPaths(host, first.node).socket, appliedVerdicts, verdicts);
        if (command !== "")
          log.info({ command, because: file.members.map((member) => lastSeen(member, views)) }, "proxy servers set");
        appliedVerdicts = verdicts;
      }
      const next = noteChange(file, before, views, Date.now());
      note = next.note;
      try {
        if (next.change !== undefined) {
          log.info({ change: next.change }, "the primary changed");
          await writeChange(host, next.change);
        }
        const isOther = note.primary !== before?.primary || note.view !== before?.view || note.group !== before?.group;
        if (note.primary !== undefined && isOther) await writeLastPrimary(host, first.node, note);
      } catch (error) {
        log.error({ error: String(error) }, "a change of the primary could not be recorded");
      }
      await sleep(noteEveryMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  }

  const nodeAt = (ordinal: number): string => file.members.find((member) => member.ordinal === ordinal)?.node ?? "";
  /** Undefined until the server was queried once: a gatekeeper that has just started knows nothing to serve. */
  const own = (): MemberView | undefined => newest(first.node, known.all());
  const unknown = (): MemberView => ({ ...awayView(file), ageMs: 0 });
  return {
    file: () => file,
    /** The same own member; the others may differ. */
    update(next: ClusterFile): void {
      file = next;
      known.keep(next.members.map(({ node }) => node));
    },
    take: known.take,
    refuse: known.refuse,
    own,
    /** Its own member was queried once, successfully or not. */
    sampled: sampled.promise,
    mayBePrimary: (ordinal: number) => mayBePrimary(nodeAt(ordinal), known.all()),
    mayServeReads: (ordinal: number) => mayServeReads(nodeAt(ordinal), known.all()),
    views(): ClusterViews {
      const all = known.all();
      const primary = primaryOf(file.members, all);
      const others = file.members
        .filter(({ node }) => node !== first.node)
        .flatMap(({ node }) => newest(node, all) ?? []);
      return { own: own() ?? unknown(), others, ...(primary !== undefined && { primary }) };
    },
    async close(): Promise<void> {
      stop.abort();
      await Promise.all(running);
    },
  };
}
export type WatchedCluster = ReturnType<typeof watchCluster>;
