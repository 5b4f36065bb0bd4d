import { setTimeout as sleep } from "node:timers/promises";
import { mayBePrimary, mayServeReads, type MemberView, newest, primaryOf, type Views } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { proxyPaths } from "../proxy/haproxy-process.ts";
import type { HostPaths } from "../base/host-paths.ts";
import { readLastPrimary, writeChange, writeLastPrimary } from "./change-files.ts";
import { chooseInvite, type Invite, reachedBy } from "./choose-invite.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { createKnownViews } from "./known-views.ts";
import { type Note, noteChange } from "./note-change.ts";
import { awayView, keepSampling } from "./sample-member.ts";
import type { ClusterViews } from "./gatekeeper-client.ts";
import { backends, serverNameOf } from "../proxy/haproxy-config.ts";
import { queryProxy } from "../proxy/runtime-socket.ts";

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
  let invite: Invite | undefined;
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
      invite = chooseInvite(invite, file, views, performance.now());
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
  const own = (): MemberView | undefined => {
    const views = known.all();
    const view = newest(first.node, views);
    // The primary of an asynchronous cluster is assigned, and its replicas do not join anything.
    if (view === undefined || file.primary !== undefined) return view;
    const invites = invite !== undefined && view.state === "online" && { invites: invite.node };
    return { ...view, reaches: reachedBy(first.node, file.members, views), ...invites };
  };
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

/** By kind of access and proxy slot: whether clients may be forwarded to that server. */
export type Verdicts = ReadonlyMap<string, boolean>;

const verdictsOf = ({ members }: Pick<ClusterFile, "members">, views: Views): Verdicts =>
  new Map(
    backends.flatMap((backend) =>
      members.map(({ node, ordinal }) => [
        `${backend}/${serverNameOf(ordinal)}`,
        backend === "primary" ? mayBePrimary(node, views) : mayServeReads(node, views),
      ]),
    ),
  );

/** Servers go down before others come up, so that no connection is forwarded while two primaries are up. */
export const changeCommand = (before: Verdicts, after: Verdicts): string =>
  [...after]
    .filter(([server, is]) => before.get(server) !== is)
    .toSorted(([, a], [, b]) => Number(a) - Number(b))
    .map(([server, is]) => `set server ${server} agent ${is ? "up" : "down"}`)
    .join("; ");

/** Applies a change to the proxy at once and returns the command. A proxy that missed it polls within 1 to 2 s. */
async function applyVerdicts(socket: string, before: Verdicts, after: Verdicts): Promise<string> {
  const command = changeCommand(before, after);
  if (command !== "") await queryProxy(socket, command).catch(() => {});
  return command;
}
