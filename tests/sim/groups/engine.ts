import type { Process } from "../schedule.ts";
import { ordinals } from "../world.ts";
import type { Group, GroupHost, GroupWorld, Server } from "./world.ts";

/** Group Replication, as far as its members' agents, proxies and clients can observe it. Settings: `config-file.ts`. */
const tickMs = 50;
/** The engine suspects a member after this time, and expels it at once; a joining member is more patient. */
const [suspectMs, patienceMs] = [5000, 5000];
/** `group_replication_unreachable_majority_timeout`. */
const aloneMs = 10_000;
/** Per tick. */
const executed = 100;
/** Two that do not reach each other may both be expelled. */
const bothExpelled = 0.3;

export const groupOf = (world: GroupWorld, id: number): Group | undefined =>
  world.groups.find((each) => each.id === id);
const inGroup = (world: GroupWorld, { id, listed }: Group): number[] =>
  listed.filter((each) => isIn(world.host(each), id));
const isIn = ({ up, server }: GroupHost, id: number): boolean => up && server.alive && server.group === id;

/** The members that agree on what happens next; undefined: no majority. */
export function majorityOf(world: GroupWorld, group: Group): number[] | undefined {
  const there = inGroup(world, group);
  const cliques = [7, 3, 5, 6, 1, 2, 4]
    .map((mask): number[] => ordinals.filter((each) => (mask & (1 << each)) !== 0))
    .filter((set) => set.every((one) => there.includes(one) && set.every((other) => world.reaches(one, other))));
  const [most] = cliques.toSorted(
    (a, b) => b.length - a.length || Number(b.includes(group.primary)) - Number(a.includes(group.primary)),
  );
  return most !== undefined && 2 * most.length > group.listed.length ? most : undefined;
}

export function* runEngine(world: GroupWorld): Process {
  for (;;) {
    yield tickMs;
    for (const group of world.groups) advance(world, group);
    for (const { server, up } of world.hosts) if (up && server.alive) execute(world, server);
    const there = world.groups.filter((group) => world.hosts.some((host) => isIn(host, group.id)));
    if (there.length > 1)
      world.violate(`there are two groups, of ${there.map(({ listed }) => listed.join("+")).join(" and ")}`);
    world.groups = there;
  }
}

function advance(world: GroupWorld, group: Group): void {
  const majority = majorityOf(world, group) ?? [];
  if (majority.length > 0) agree(world, group, majority);
  for (const host of world.hosts.filter((each) => isIn(each, group.id))) {
    const { server, ordinal } = host;
    if (majority.includes(ordinal)) continue;
    server.aloneSince ??= world.now();
    const reached = inGroup(world, group).filter((each) => world.reaches(ordinal, each));
    server.view.online = server.view.online.filter((each) => reached.includes(each));
    const isExpelled = !group.listed.includes(ordinal) && majority.some((each) => world.reaches(ordinal, each));
    if (isExpelled || world.now() - server.aloneSince >= aloneMs) fallOut(world, host, "error");
  }
}

function agree(world: GroupWorld, group: Group, majority: readonly number[]): void {
  const isPatient = majority.some((each) => world.host(each).server.isPatient);
  for (const each of group.listed) {
    if (majority.includes(each)) group.missed.delete(each);
    else if (!group.missed.has(each)) group.missed.set(each, world.now());
  }
  const gone = [...group.missed].filter(([, since]) => world.now() - since >= suspectMs + (isPatient ? patienceMs : 0));
  for (const [each] of gone) {
    const stranger = majority.find((other) => world.host(each).server.alive && !world.reaches(each, other));
    remove(group, each);
    world.say(`the group expels ${each}`);
    if (stranger === undefined || majority.length < 2 || !majority.some((other) => world.reaches(each, other)))
      continue;
    if (!world.random.chance(bothExpelled)) continue;
    world.happens("two members that do not reach each other are expelled");
    remove(group, stranger);
  }
  const online = majority.filter((each) => world.host(each).server.state === "online" && group.listed.includes(each));
  if (!online.includes(group.primary) && !group.listed.includes(group.primary) && online[0] !== undefined) {
    group.primary = online[0];
    world.happens("the group elects a primary");
    world.say(`the group elects ${group.primary}`);
  }
  for (const each of majority.filter((one) => group.listed.includes(one))) {
    const { server } = world.host(each);
    const hasCaughtUp = server.received - server.log.length < executed;
    server.aloneSince = undefined;
    server.received = group.log.length;
    // Each member applies a change of the view at its own time.
    if (world.random.chance(0.5))
      server.view = { view: group.view, listed: [...group.listed], online, primary: group.primary };
    if (server.state === "recovering" && world.now() >= server.onlineAt && hasCaughtUp && online.length > 0) {
      server.state = "online";
      world.say(`node ${each} is online`);
    }
    if (server.view.primary !== each) server.closed = true;
    else if (server.state === "online" && group.primary === each && server.log.length === group.log.length)
      server.closed = false;
  }
}

export function remove(group: Group, ordinal: number): void {
  group.listed = group.listed.filter((each) => each !== ordinal);
  group.missed.delete(ordinal);
  group.view += 1;
}

function execute(world: GroupWorld, server: Server): void {
  const log = groupOf(world, server.group)?.log;
  if (log === undefined || server.log.length >= server.received) return;
  for (const each of log.slice(server.log.length, Math.min(server.received, server.log.length + executed)))
    server.log.push(each);
}

/** It keeps what it has received. */
export function fallOut(world: GroupWorld, { server, ordinal }: GroupHost, state: "offline" | "error"): void {
  const log = groupOf(world, server.group)?.log ?? [];
  server.log.push(...log.slice(server.log.length, server.received));
  Object.assign(server, { state, group: 0, closed: true, aloneSince: undefined, isPatient: false });
  world.say(`node ${ordinal} is out of the group (${state})`);
}

/** What was received and not executed is only in its memory. */
export function endServer(world: GroupWorld, { server, ordinal }: GroupHost): void {
  if (!server.alive) return;
  Object.assign(server, {
    alive: false,
    state: "offline",
    group: 0,
    closed: true,
    aloneSince: undefined,
    isPatient: false,
  });
  world.say(`the server of ${ordinal} ends`);
}

export function startServer({ server }: GroupHost): void {
  Object.assign(server, {
    alive: true,
    starts: server.starts + 1,
    wasGroupStarted: false,
    state: "offline",
    group: 0,
    closed: true,
  });
}

/** A client's write at a primary: the number that it is acknowledged by, or undefined. */
export function write(world: GroupWorld, ordinal: number): (() => void) | undefined {
  const { server, boot } = world.host(ordinal);
  const group = groupOf(world, server.group);
  if (group === undefined || server.state !== "online" || server.closed || server.view.primary !== ordinal)
    return undefined;
  const majority = majorityOf(world, group);
  if (group.primary !== ordinal || majority?.includes(ordinal) !== true || server.log.length < group.log.length)
    return undefined;
  world.writes += 1;
  const [id, { starts }] = [world.writes, server];
  group.log.push(id);
  server.log.push(id);
  for (const each of majority) world.host(each).server.received = group.log.length;
  return () => {
    if (server.alive && server.starts === starts && server.group === group.id && boot === world.host(ordinal).boot)
      world.acknowledged.push(id);
  };
}
