import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import { knock } from "@moorage/testkit/knock.ts";
import { type Connection, createConnection } from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentEnvironment, builtEngine, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { testSpec } from "../testing/node-spec.ts";
import { makeTestHost, type TestHost, until } from "../testing/test-host.ts";

const bootFile = join(import.meta.dirname, "../../boot/firewall-closed.nft");

let host: TestHost;
let gateway: FakeGateway;
let environment: Record<string, string>;
let generation = 0;
const node = randomUUID();
const port = 20_001;

beforeAll(async () => {
  host = await makeTestHost("moor-t-gn", "198.18.81");
  gateway = await startFakeGateway(host.outside, 14445, enrolToken);
  environment = agentEnvironment(host, gateway);
  host.known(node);
  host.startAgent(environment);
});
afterAll(async () => {
  if (process.env["SHOW_AGENT_LOG"]) process.stdout.write(host.log());
  await gateway?.close();
  await host?.close();
});

const setDesired = (change: Partial<NodeSpec>): void => {
  generation += 1;
  gateway.setDesired(
    testSpec({ node, engine: builtEngine, generation, network: { address: host.address(1), port }, ...change }),
  );
};
const isRunning = () => {
  const report = gateway.latest(node);
  return report?.state === "running" && report.generation === generation;
};
/** Sets the list and waits until it is reported as applied; returns how long that took. */
async function apply(...sources: string[]): Promise<number> {
  const started = performance.now();
  setDesired({ firewall: { sources } });
  await until("the list", isRunning);
  return performance.now() - started;
}

const placeFrom = (localAddress: string) => ({
  host: localAddress.includes(":") ? host.inside6 : host.inside,
  port,
  localAddress,
});
const logInOver = (socket: Socket): Promise<Connection> =>
  createConnection({
    stream: () => socket,
    user: "dbadmin",
    password: "correct horse ' battery",
    ssl: { rejectUnauthorized: false },
    connectTimeout: 120_000,
  });
const logIn = (localAddress: string): Promise<Connection> => logInOver(connect(placeFrom(localAddress)));
/** Only the firewall has a time limit: a server that it lets a client reach may be slow to answer. */
async function answersTo(localAddress: string): Promise<unknown> {
  const { outcome, socket } = await knock(placeFrom(localAddress), 1000);
  if (outcome !== "open") {
    socket.destroy();
    return undefined;
  }
  const connection = await logInOver(socket).catch(() => undefined);
  if (connection === undefined) return undefined;
  try {
    return ((await connection.query("SELECT SUBSTRING_INDEX(USER(), '@', -1) AS me"))[0] as [{ me: string }])[0].me;
  } finally {
    connection.destroy();
  }
}
const containerStarted = () => host.podman("inspect", "--format", "{{.Id}} {{.State.StartedAt}}", `moorage-${node}`);

test("only a listed client reaches a running node, and the server sees the client's address", async () => {
  setDesired({});
  await until("the node", isRunning);
  expect([await answersTo(host.outside), await answersTo(host.stranger)]).toEqual([undefined, undefined]);
  const started = containerStarted();
  const took = await apply(`${host.outside}/32`);
  expect([await answersTo(host.outside), await answersTo(host.stranger)]).toEqual([host.outside, undefined]);
  // A change of the list does not touch the server.
  expect(containerStarted()).toBe(started);
  process.stdout.write(`a new list, from desired to reported: ${took.toFixed(0)} ms\n`);
});

test("sessions of a source removed from the list end; others continue", async () => {
  await apply(`${host.outside}/32`, `${host.stranger}/32`);
  const [stays, goes] = [await logIn(host.outside), await logIn(host.stranger)];
  const ended = new Promise<number>((resolve) => goes.on("error", () => resolve(performance.now())));
  const started = performance.now();
  setDesired({ firewall: { sources: [`${host.outside}/32`] } });
  const took = (await ended) - started;
  process.stdout.write(`a removed source's session ended after ${took.toFixed(0)} ms\n`);
  expect(took).toBeLessThan(60_000);
  await until("the list", isRunning);
  await expect(stays.query("SELECT 1")).resolves.toBeDefined();
  stays.destroy();
});

test("IPv6 clients need IPv6 entries, and their sessions end when these are removed", async () => {
  await apply(`${host.outside}/32`);
  expect(await answersTo(host.outside6)).toBeUndefined();
  await apply(`${host.outside}/32`, `${host.outside6}/128`);
  expect(await answersTo(host.outside6)).toBe(host.outside6);
  const session = await logIn(host.outside6);
  const ended = new Promise((resolve) => session.on("error", resolve));
  await apply(`${host.outside}/32`);
  await ended;
  expect([await answersTo(host.outside), await answersTo(host.outside6)]).toEqual([host.outside, undefined]);
});

test("a list of 10,000 sources is applied and reported", async () => {
  const times: number[] = [];
  for (let change = 0; change < 10; change++) {
    const sources = Array.from({ length: 9_999 }, (_, index) => `20.${index >> 8}.${index & 255}.${change}/32`);
    times.push(await apply(...sources, `${change % 2 === 0 ? host.outside : host.stranger}/32`));
    expect(await answersTo(change % 2 === 0 ? host.stranger : host.outside)).toBeUndefined();
  }
  process.stdout.write(`10,000 sources through the agent: ${times.map((ms) => ms.toFixed(0)).join(", ")} ms\n`);
});

test("after 50 quick changes the last list is in force", async () => {
  for (let change = 0; change < 50; change++) {
    setDesired({ firewall: { sources: change % 2 === 0 ? [`${host.stranger}/32`] : [`${host.outside}/32`] } });
    await sleep(20);
  }
  await until("the last list", isRunning);
  expect([await answersTo(host.outside), await answersTo(host.stranger)]).toEqual([host.outside, undefined]);
});

test("an unreadable list is reported, and the old one stays in force", async () => {
  setDesired({ firewall: { sources: [`${host.stranger}/32`, "localhost/32"] } });
  await until("the reason", () => gateway.latest(node)?.message?.includes("localhost/32") === true);
  expect([await answersTo(host.outside), await answersTo(host.stranger)]).toEqual([host.outside, undefined]);
  await apply(`${host.outside}/32`);
});

test("without a control plane, a starting agent applies the firewall from its disk", async () => {
  await host.stopAgent("SIGKILL");
  await gateway.close();
  execFileSync("ip", ["netns", "exec", "moor-t-gn", "nft", "-f", bootFile]);
  expect(await answersTo(host.outside)).toBeUndefined();
  host.startAgent(environment);
  await until("the firewall", async () => (await answersTo(host.outside)) === host.outside);
  expect(await answersTo(host.stranger)).toBeUndefined();
  await gateway.open();
  await apply(`${host.outside}/32`);
});

test("a reboot of the host never lets a stranger in, and listed clients get access again", async () => {
  const tries = { open: 0, not: 0 };
  let trying = true;
  const tryAsStranger = (to: { host: string; port: number }) => {
    const socket = connect({ ...to, localAddress: host.stranger, timeout: 300 });
    const end = (outcome: keyof typeof tries) => () => {
      tries[outcome] += 1;
      socket.destroy();
    };
    socket.once("connect", end("open")).once("timeout", end("not")).once("error", end("not"));
  };
  const prober = (async () => {
    for (; trying; await sleep(3)) {
      tryAsStranger({ host: host.inside, port });
      tryAsStranger({ host: host.address(1), port: 3306 });
    }
  })();
  await gateway.close();
  const started = Date.now();
  await host.reboot((namespace) => execFileSync("ip", ["netns", "exec", namespace, "nft", "-f", bootFile]));
  await sleep(500);
  host.startAgent(environment);
  await until("SQL", async () => (await answersTo(host.outside)) === host.outside);
  process.stdout.write(`reboot: the listed client was back after ${Date.now() - started} ms\n`);
  await sleep(1000);
  await until("500 tries", () => tries.not > 500);
  trying = false;
  await prober;
  await sleep(400);
  process.stdout.write(`reboot: a stranger's tries: ${JSON.stringify(tries)}\n`);
  expect(tries.open).toBe(0);
  expect(tries.not).toBeGreaterThan(500);
  await gateway.open();
});

test("a tombstone closes the port and leaves no firewall rule", async () => {
  await until("the report", isRunning);
  setDesired({ firewall: { sources: ["0.0.0.0/0"] }, tombstone: { operation: 9 } });
  await until("the end", () => gateway.latest(node)?.state === "gone");
  const table = (text: string) => text.replaceAll(/\s+/g, " ");
  expect(host.nft("list table inet moorage")).not.toContain(String(port));
  expect(table(host.nft("list map inet moorage ports"))).not.toContain("elements");
});
