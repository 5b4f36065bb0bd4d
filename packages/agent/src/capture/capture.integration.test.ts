import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Capture, CaptureReport } from "@moorage/contract/agent";
import { CHUNK_BYTES, chunkName, DiskManifest, MANIFEST } from "@moorage/disk-image";
import { readDisk } from "@moorage/disk-image/testing";
import { type ObjectStore, startObjectStore } from "@moorage/testkit/object-store.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentEnvironment, enrolToken } from "../testing/agent-environment.ts";
import { type FakeGateway, startFakeGateway } from "../testing/fake-gateway.ts";
import { makeTestHost, type TestHost, until } from "../testing/test-host.ts";

const mb = 1024 ** 2;
let host: TestHost;
let gateway: FakeGateway;
let store: ObjectStore;
let environment: Record<string, string>;

beforeAll(async () => {
  host = await makeTestHost("moor-t-cap", "198.18.86");
  gateway = await startFakeGateway(host.outside, 14_450, enrolToken);
  store = await startObjectStore(host.outside);
  gateway.archive.store = store;
  gateway.captures.desired = [];
  environment = {
    ...agentEnvironment(host, gateway),
    MOORAGE_AGENT_DISKS: `/dev:${host.dir}`,
    MOORAGE_CRASH_DIR: host.crash,
  };
  host.startAgent(environment);
});
afterAll(async () => {
  await host.close();
  await gateway.close();
  await store.close();
});

function newCapture(raw: Buffer): Capture {
  const id = randomUUID();
  const device = join(host.dir, `${id}.img`);
  writeFileSync(device, raw);
  return { id, device, max_bytes: 1024 * mb };
}
const latest = (id: string): CaptureReport | undefined =>
  gateway.captures.reports.findLast((report) => report.id === id);
const ended = (id: string) => until("the capture's end", () => (latest(id)?.state ?? "working") !== "working");

async function rawOf({ id, content }: CaptureReport): Promise<Buffer> {
  const read = (name: string): Buffer => store.read(`${id}/${content}/${name}`);
  const manifest = DiskManifest.parse(JSON.parse(read(MANIFEST).toString()));
  return Buffer.concat(await Array.fromAsync(readDisk(manifest, async (index) => read(chunkName(index)))));
}

test("an agent captures the requested disks, reports progress, and forgets them when they are dropped", async () => {
  const raw = Buffer.concat([randomBytes(3 * CHUNK_BYTES), Buffer.alloc(CHUNK_BYTES), randomBytes(mb)]);
  const [good, absent] = [newCapture(raw), newCapture(Buffer.alloc(0))];
  rmSync(absent.device);
  gateway.captures.desired = [absent, good];

  await ended(good.id);
  expect(latest(absent.id)).toMatchObject({
    state: "failed",
    message: expect.stringContaining("does not exist at the path"),
  });
  expect(latest(good.id)).toMatchObject({ state: "done", percent: 100 });
  expect((await rawOf(latest(good.id) as CaptureReport)).equals(raw)).toBe(true);

  gateway.captures.desired = [];
  const reportedBefore = gateway.captures.reports.length;
  const pollCount = (): number => gateway.requestedPaths.filter((path) => path === "/v1/desired").length;
  const before = pollCount();
  await until("two more polls", () => pollCount() > before + 1);
  expect(gateway.captures.reports.slice(reportedBefore).filter(({ state }) => state === "working")).toEqual([]);
});

test("an agent killed during a capture starts again in another folder and completes it", async () => {
  const raw = randomBytes(4 * CHUNK_BYTES + 512);
  const capture = newCapture(raw);
  writeFileSync(join(host.crash, "armed"), JSON.stringify({ step: "agent.capture.chunk", mode: "kill-after" }));
  gateway.captures.desired = [capture];
  await host.agentExit();
  const left = await store.keys(capture.id);
  expect(left.length).toBeGreaterThan(0);
  expect(left.filter((key) => key.endsWith(MANIFEST))).toEqual([]);

  host.startAgent(environment);
  await ended(capture.id);

  const report = latest(capture.id) as CaptureReport;
  expect(report.state).toBe("done");
  expect((await rawOf(report)).equals(raw)).toBe(true);
  expect(left.some((key) => key.includes(report.content as string))).toBe(false);
  gateway.captures.desired = [];
});

test("an agent killed after it reported a capture repeats it while it is still requested", async () => {
  const capture = newCapture(randomBytes(mb));
  gateway.captures.desired = [capture];
  await ended(capture.id);
  const first = latest(capture.id);
  await host.stopAgent("SIGKILL");
  host.startAgent(environment);

  await until(
    "another end",
    () => latest(capture.id)?.state === "done" && latest(capture.id)?.content !== first?.content,
  );
  expect(await store.keys(capture.id)).toContain(`${capture.id}/${latest(capture.id)?.content}/${MANIFEST}`);
  gateway.captures.desired = [];
});

test("with an older gateway that knows no captures, an agent polls and reports as usual", async () => {
  const capture = newCapture(randomBytes(mb));
  gateway.captures.desired = [capture];
  await ended(capture.id);
  gateway.captures.desired = undefined;
  const since = gateway.messages.length;
  const pollCount = (): number => gateway.requestedPaths.filter((path) => path === "/v1/desired").length;
  const before = pollCount();

  await until("more polls", () => pollCount() > before + 2);
  await host.stopAgent();
  host.startAgent(environment);
  await until("a complete report", () => gateway.messages.slice(since).some(({ complete }) => complete));
  expect(gateway.messages.at(-1)).not.toHaveProperty("captures");
  gateway.captures.desired = [];
});

test("the agent's memory does not depend on the size of the disk", async () => {
  const peakMb = (): number => {
    const [, pid] = [...host.log().matchAll(/"pid":(\d+),/g)].at(-1) ?? [];
    const [, kb] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kb) / 1024;
  };
  const peakAfter = async (pieces: number): Promise<number> => {
    const capture = newCapture(Buffer.alloc(0));
    for (let n = 0; n < pieces; n++) writeFileSync(capture.device, randomBytes(64 * mb), { flag: "a" });
    gateway.captures.desired = [capture];
    await ended(capture.id);
    expect(latest(capture.id)?.state).toBe("done");
    rmSync(capture.device);
    return peakMb();
  };

  const small = await peakAfter(1);
  const large = await peakAfter(5);

  expect(large - small).toBeLessThan(64);
});
