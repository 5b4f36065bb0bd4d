import { DeleteObjectCommand, PutObjectCommand, PutObjectRetentionCommand } from "@aws-sdk/client-s3";
import type { UploadsReply } from "@moorage/contract/agent";
import { type StoreIdentity, storeIdentities } from "@moorage/testkit/store-policies.ts";
import { expect, test } from "vitest";
import { createS3Client } from "#platform/s3-client.ts";
import { archiveWorld } from "#testing/archived-database.ts";
import { createObjectsJob } from "./objects-job.ts";
import { createPurgeJob } from "../backups/purge-job.ts";

const DAY_MS = 86_400_000;

/** The store's clock is real, so the world's is set to it. */
async function lockedWorld(options: Parameters<typeof archiveWorld>[0] = {}) {
  const fixture = await archiveWorld({ objectLock: true, ...options });
  fixture.world.time.now = new Date();
  return fixture;
}

test("where the store has Object Lock, no process can delete, replace or unlock what was archived", async () => {
  const keyOf = (identity: StoreIdentity) => ({ access: identity, secret: `${identity}-secret` });
  const keys = Object.fromEntries(storeIdentities.map((each) => [each, keyOf(each)])) as Record<
    StoreIdentity,
    ReturnType<typeof keyOf>
  >;
  // The gateway of the test has the key of `fleet`.
  await using fixture = await lockedWorld({ keys: { ...keys, worker: keys.fleet } });
  const { store, world } = fixture;
  const { uploadCopy, uploadLog } = await fixture.database();
  await uploadCopy(-2, -1);
  await uploadLog(1, -1);
  const archived = await store.versions();
  expect(archived).toHaveLength(4);
  for (const { until } of archived)
    expect((until?.getTime() ?? 0) - world.time.now.getTime()).toBeGreaterThanOrEqual(9 * DAY_MS - 1000);

  const { url, region, bucket: Bucket } = store.settings;
  let accepted = 0;
  for (const { access, secret } of [keys.api, keys.fleet, keys.purge, keys["image-server"]]) {
    const client = createS3Client({ url, region, bucket: Bucket, accessKey: access, secretKey: secret });
    for (const { key: Key, version: VersionId } of archived) {
      const soon = { Mode: "GOVERNANCE" as const, RetainUntilDate: new Date(Date.now() + 2000) };
      const attacks = [
        () => client.send(new DeleteObjectCommand({ Bucket, Key, VersionId })),
        () => client.send(new DeleteObjectCommand({ Bucket, Key, VersionId, BypassGovernanceRetention: true })),
        () => client.send(new PutObjectRetentionCommand({ Bucket, Key, VersionId, Retention: soon })),
        () =>
          client.send(
            new PutObjectRetentionCommand({
              Bucket,
              Key,
              VersionId,
              Retention: soon,
              BypassGovernanceRetention: true,
            }),
          ),
        () => client.send(new PutObjectCommand({ Bucket, Key, Body: "replaced" })),
        () => client.send(new DeleteObjectCommand({ Bucket, Key })),
      ];
      for (const attack of attacks)
        await attack().then(
          () => accepted++,
          () => {},
        );
    }
    client.destroy();
  }

  // Each object was overwritten with the key of `fleet`, and hidden with the one that deletes.
  expect(accepted).toBe(8);
  const left = await store.versions();
  expect(left.filter(({ version }) => archived.some((each) => each.version === version))).toEqual(archived);
});

test("an address for a locked upload is worth nothing without the retention that was signed", async () => {
  await using fixture = await lockedWorld();
  const { call, timeline } = await fixture.database();
  const { body } = await call<UploadsReply>("/v1/uploads", { timeline, names: ["logs/binlog.000001"] });
  const put = async (headers: Record<string, string>) =>
    (await fetch(body.urls[0] as string, { method: "PUT", body: "x", headers })).status;
  const soon = new Date(Date.now() + 60_000).toISOString();

  expect(body.headers).toMatchObject({ "x-amz-object-lock-mode": "GOVERNANCE" });
  expect(await put({})).toBe(403);
  expect(await put({ ...body.headers, "x-amz-object-lock-retain-until-date": soon })).toBe(403);
  expect(await put(body.headers ?? {})).toBe(200);
});

test("a purge of what is still locked waits for the end of its retention, and then leaves no version", async () => {
  await using fixture = await lockedWorld();
  const { world, store } = fixture;
  const { id, upload, uploadCopy, uploadLog, reportArchived } = await fixture.database();
  const copy = await uploadCopy(-2, -1);
  await reportArchived({ copies: [copy], logs: [await uploadLog(1, -1)] });
  await upload("logs/binlog.000001", "log 1");
  const deleted = { deleted_at: new Date(world.time.now.getTime() - DAY_MS), purge_at: world.time.now };
  await world.db.updateTable("databases").set(deleted).where("id", "=", id).execute();
  await world.db.updateTable("nodes").set({ released_at: world.time.now }).execute();
  const purge = createPurgeJob({ ...world, archivePurge: store.purging });
  const due = () => world.db.selectFrom("databases").select("purge_at").where("id", "=", id).executeTakeFirst();

  await purge();
  expect((await due())?.purge_at?.getTime()).toBeGreaterThan(world.time.now.getTime() + 8 * DAY_MS);
  expect([...world.stuck().values()].filter((rows) => rows > 0)).toEqual([]);
  expect(await store.versions()).toHaveLength(5);

  await store.endRetention();
  world.time.now = new Date(world.time.now.getTime() + 10 * DAY_MS);
  await purge();
  expect(await due()).toEqual({ purge_at: null });
  expect(await store.versions()).toEqual([]);
});

test("a copy and logs that are no longer needed go when their retention ends, and their rows with them", async () => {
  await using fixture = await lockedWorld();
  const { world, store } = fixture;
  const { prefix, uploadCopy, uploadLog, reportArchived } = await fixture.database();
  const copy = await uploadCopy(-2, -1);
  await reportArchived({ copies: [copy], logs: [await uploadLog(1, -1), await uploadLog(2, -1)] });
  // One log is older than the lock of the bucket.
  await store.endRetention(`${prefix}logs/binlog.000001`);
  const doomed = { doomed_at: new Date(world.time.now.getTime() - DAY_MS) };
  await world.db.updateTable("copies").set(doomed).execute();
  await world.db.updateTable("binary_logs").set(doomed).execute();
  const job = createObjectsJob({ ...world, archivePurge: store.purging });
  const rows = async () => ({
    copies: (await world.db.selectFrom("copies").select("id").execute()).length,
    logs: (await world.db.selectFrom("binary_logs").select("sequence").execute()).map(({ sequence }) => sequence),
  });

  await job();
  expect(await rows()).toEqual({ copies: 1, logs: [2] });
  await job();
  expect([...world.stuck().values()].filter((count) => count > 0)).toEqual([]);

  await store.endRetention();
  world.time.now = new Date(world.time.now.getTime() + 10 * DAY_MS);
  await job();
  expect(await rows()).toEqual({ copies: 0, logs: [] });
  expect(await store.versions()).toEqual([]);
});
