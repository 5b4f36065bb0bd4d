import type { Image } from "@moorage/contract";
import { expect, test } from "vitest";
import { startGateway } from "#testing/gateway.ts";
import {
  AUTOMATIC,
  AUTOMATIC_HOURS,
  clockOf,
  DAY,
  keptAt,
  leftAt,
  imageLifecycles,
  moments,
  seenAt,
} from "#testing/image-lifecycles.ts";
import { simulateCaptures } from "#testing/simulated-capture.ts";
import {
  packedDisk,
  packedForeignDisk,
  put,
  type StoredImages,
  storedImages,
  twoStoresForAll,
} from "#testing/stored-images.ts";
import { checkSoon } from "./import/upload-watcher.ts";

const stores = twoStoresForAll();

async function newDay() {
  const day = await storedImages(stores, { images: { automaticDays: AUTOMATIC_HOURS / 24 } });
  const { world, alice } = day;
  const gateway = await startGateway(world);
  const host = simulateCaptures(gateway, await gateway.enrolledHost());
  await host.poll();
  const midnight = world.time.now.getTime();
  const compute = await world.compute(alice.accountId, { host: host.name });
  const disk = { label: AUTOMATIC.label, size_mb: 9, filesystem: "ext4", device: "/dev/vg/root" };
  await world.operator.post(`/admin/computes/${compute.id}/disks`, disk);
  host.disks.set(disk.device, Buffer.alloc(9 * 1024 ** 2, "a disk"));
  return {
    ...day,
    numbers: new Map<string, { id: number; address: string }>(),
    setTime: (at: number): void => {
      world.time.now = new Date(midnight + at * 1000);
    },
    async removeInstance(): Promise<void> {
      await world.operator.post(`/admin/computes/${compute.id}/remove`, {});
      await host.poll();
      for (const capture of host.known.values()) await host.report(await host.store(capture));
      await world.activities.settleCapture((await world.lastOperation()).id, "ended");
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await day[Symbol.asyncDispose]();
    },
  };
}
type Day = Awaited<ReturnType<typeof newDay>>;

/** The actions of tenants and the operator in this second. The store may send a notification or not. */
async function happen(day: Day, at: number, isHeard: boolean): Promise<void> {
  const { world, alice, numbers } = day;
  for (const [label, life] of Object.entries(imageLifecycles)) {
    if (life.requested === at) numbers.set(label, await day.requestUpload(label));
    const { id, address } = numbers.get(label) ?? { id: 0, address: "" };
    if (life.sent === at) await put(address, life.foreign ? packedForeignDisk() : packedDisk());
    if (life.again === at) await put(address, packedDisk());
    if (isHeard && (life.sent === at || life.again === at)) await checkSoon(world.db, world.time.now, [id]);
    if (life.deleted === at) await alice.delete(`/v4/images/private/${id}`);
    if (life.published === at) await world.operator.post(`/admin/images/${id}/publish`, { name: "public", label });
    if (life.retired === at) await world.operator.post(`/admin/images/${id}/retire`, {});
  }
  if (at === AUTOMATIC.made) await day.removeInstance();
}

/** A worker's round. No upload check happens in the last second of an upload's time or the one before. */
async function work({ world, importOpen, copyAll }: StoredImages, checks: boolean): Promise<void> {
  if (checks) await world.checkUploads();
  await world.run("removeImages");
  await importOpen();
  await copyAll();
  await world.run("clearImages");
  await world.run("sweepImages");
}

async function labelsSeen({ alice }: Day): Promise<string[]> {
  const { body } = await alice.get<{ data: Image[] }>("/v4/images?page_size=100");
  return body.data.map(({ label }) => label).sort();
}

/** By the objects. */
async function labelsOf({ query }: Day, keys: readonly string[], folder: "images" | "uploads"): Promise<string[]> {
  const rows = await query<{ id: number; label: string }>("select id, label from images");
  const ids = new Set(keys.filter((key) => key.startsWith(`${folder}/`)).map((key) => Number(key.split("/")[1])));
  return [...ids].map((id) => rows.find((row) => row.id === id)?.label ?? `nothing is ${id}`).sort();
}

/** What is visible, and what the stores hold. Without a check, the stores are a round behind. */
async function found(day: Day, checks: boolean) {
  const seen = await labelsSeen(day);
  if (!checks) return { seen };
  const { here, there } = await day.keys();
  const copied = await labelsOf(day, there, "images");
  return { seen, kept: await labelsOf(day, here, "images"), copied, left: await labelsOf(day, here, "uploads") };
}

const expected = (at: number, checks: boolean) => ({
  seen: seenAt(at),
  ...(checks && { kept: keptAt(at), copied: keptAt(at), left: leftAt(at) }),
});

test("through a day and a half, at each hour and to the second, exactly the expected images exist", {
  timeout: 1_500_000,
}, async () => {
  await using day = await newDay();
  const atTheEdge = new Set(
    Object.values(imageLifecycles).flatMap(({ requested }) => [requested + DAY - 1, requested + DAY]),
  );
  for (const at of moments) {
    const checks = !atTheEdge.has(at);
    day.setTime(at);
    await happen(day, at, checks);
    await work(day, checks);

    const clock = clockOf(at);
    expect({ clock, ...(await found(day, checks)) }).toEqual({ clock, ...expected(at, checks) });
  }
  expect(await day.broken()).toEqual([]);
  const uncleared = "select label from images where deleted_at is not null and cleared_at is null";
  expect(await day.query(uncleared)).toEqual([]);

  const recorded = await day.query<{ label: string; status: string; message: string | null }>(
    "select i.label, e.status, e.message from images i join events e on e.id = i.event_id where i.type = 'manual'",
  );
  for (const { label, status, message } of recorded) {
    const why = imageLifecycles[label]?.message;
    const isTold = (why ?? /^$/).test(message ?? "");
    expect({ label, status, isTold }).toEqual({
      label,
      status: why === undefined ? "finished" : "failed",
      isTold: true,
    });
  }
});
