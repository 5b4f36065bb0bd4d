import type { Process } from "./schedule.ts";
import { contains, type Transactions, union } from "./transactions.ts";
import { type Host, ordinals, othersOf, type Server, type World } from "./world.ts";

const tickMs = 20;
/** A server that ended resets its connections; a cut is noticed by heartbeats. */
const noticedMs = { end: 60, cut: 4000 };
/** A server counts a replica that was cut off until its connection times out. */
const countedMs = 15_000;
const connectMs = 1000;
/** Per tick. */
const [sent, sentOverFullLink, applied] = [200, 1, 100];
/** The transactions that a server has passed to its kernel before a replica receives them. */
const buffered = 200;
/** A replica receives nothing in this part of the ticks, so that replicas differ. */
const lateTicks = 0.3;

export const gtidOf = ({ executed, received }: Server): Transactions => union(executed, received);
export const isApplied = ({ executed, received }: Server): boolean => contains(executed, received);

/** The replicas that the server counts. */
export const replicasOf = (world: World, ordinal: number): number[] =>
  othersOf(ordinal).filter((other) => {
    const { server } = world.host(other);
    if (!world.reaches(ordinal, other)) {
      const countedAt = world.host(ordinal).server.counted.get(other);
      return countedAt !== undefined && world.now() - countedAt < countedMs;
    }
    return server.alive && server.source === ordinal && server.receiving === "on" && server.brokenSince === undefined;
  });

export function* runServers(world: World): Process {
  for (;;) {
    yield tickMs;
    for (const ordinal of ordinals) {
      const host = world.host(ordinal);
      if (!host.up || !host.server.alive) continue;
      receive(world, host);
      apply(world, host.server);
    }
  }
}

function receive(world: World, { ordinal, server }: Host): void {
  if (server.receiving === "off" || server.source === undefined) return;
  const source = world.host(server.source);
  const reaches = world.reaches(ordinal, server.source);
  if (server.receiving === "connecting") {
    if (!reaches || !source.server.alive || world.now() - server.connectingSince < connectMs) return;
    server.receiving = "on";
    server.connectedTo = source.server.starts;
  }
  if (!reaches) return noticeEnd(server, noticedMs.cut, world.now());
  const isConnected = source.server.alive && source.server.starts === server.connectedTo;
  if (isConnected) {
    server.brokenSince = undefined;
    source.server.counted.set(ordinal, world.now());
    server.onTheWay = next(world, source.server.executed, gtidOf(server), buffered);
  }
  if (!world.random.chance(lateTicks))
    server.received = next(
      world,
      server.onTheWay,
      gtidOf(server),
      source.fullTo.has(ordinal) ? sentOverFullLink : sent,
    );
  // The kernel of the source's host sends what it has before it closes the connection.
  if (!isConnected && isReceived(server)) noticeEnd(server, noticedMs.end, world.now());
}

/**
 * What a server has after so many more of the transactions of `all`. A log has the transactions of each term after those
 * of the terms before it: a primary opens only with all that it has received.
 */
function next(world: World, all: Transactions, had: Transactions, most: number): Transactions {
  const has = new Map(had);
  let left = most;
  for (const { uuid, last } of world.written) {
    const before = has.get(uuid) ?? 0;
    const upTo = Math.min(last, all.get(uuid) ?? 0, before + left);
    if (upTo <= before) continue;
    has.set(uuid, upTo);
    left -= upTo - before;
  }
  return has;
}

const isReceived = (server: Server): boolean => contains(gtidOf(server), server.onTheWay);

function noticeEnd(server: Server, afterMs: number, now: number): void {
  server.brokenSince ??= now;
  if (now - server.brokenSince >= afterMs) connectAgain(server, now);
}

function connectAgain(server: Server, now: number): void {
  server.receiving = "connecting";
  server.connectingSince = now;
  server.brokenSince = undefined;
}

function apply(world: World, server: Server): void {
  if (server.applying && !isApplied(server)) server.executed = next(world, server.received, server.executed, applied);
}

/** Replaces the source. What was received from another one and not applied is discarded. */
export function replicateFrom(world: World, { server }: Host, source: number): void {
  server.source = source;
  server.onTheWay = new Map();
  server.receiving = "connecting";
  server.connectingSince = world.now() - connectMs;
  server.brokenSince = undefined;
  server.applying = true;
  server.received = new Map(server.executed);
}

export function stopReplicating(server: Server): void {
  server.receiving = "off";
  server.applying = false;
  server.brokenSince = undefined;
}

/** By a crash, or with its host. What was not executed is received again. */
export function endServer(world: World, host: Host): void {
  const { server } = host;
  if (!server.alive) return;
  server.alive = false;
  server.open = false;
  server.forClone = false;
  world.say(`the server of ${host.ordinal} ends`);
}

/** Closed to writes, and replicating from nobody. */
export function startServer(server: Server): void {
  server.alive = true;
  server.starts += 1;
  server.counted = new Map();
  server.open = false;
  server.forClone = false;
  stopReplicating(server);
}
