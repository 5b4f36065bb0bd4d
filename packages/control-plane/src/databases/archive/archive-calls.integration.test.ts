import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROTOCOL, type RecipeReply, type UploadsReply } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { archiveWorld } from "#testing/archived-database.ts";
import type { World } from "#testing/world.ts";
import { openArchiveKey } from "./keys.ts";
import { texts } from "./texts.ts";

const ok = { status: 200 };
const notFound = { status: 404 };
const copies = ({ db }: World) => db.selectFrom("copies").selectAll().orderBy("started_at").execute();

test("a host gets upload addresses only for the desired timeline of its own node", async () => {
  await using fixture = await archiveWorld();
  const { world, gateway, store } = fixture;
  const database = await fixture.database();
  const { node, timeline, call } = database;
  const names = ["logs/binlog.000001"];
  const other = await gateway.enrolledHost();

  const { body } = await call<UploadsReply>("/v1/uploads", { timeline, names });
  expect((await fetch(body.urls[0] as string, { method: "PUT", body: "text" })).status).toBe(200);
  expect(await store.keys()).toEqual([`${database.prefix}logs/binlog.000001`]);

  expect(await gateway.post(other, "/v1/uploads", { node, timeline, names })).toMatchObject(notFound);
  expect(await call("/v1/uploads", { timeline: node, names })).toMatchObject(notFound);
  expect(await call("/v1/uploads", { timeline, names: ["logs/../../x"] })).toMatchObject({ status: 400 });
  expect(await call("/v1/uploads", { timeline, names: ["copies/x/part-1"] })).toMatchObject({ status: 400 });
  await world.db.updateTable("nodes").set({ tombstoned: true }).execute();
  expect(await call("/v1/uploads", { timeline, names })).toMatchObject(notFound);
});

test("no other host, and nobody without a certificate, can report on a node's archive", async () => {
  await using fixture = await archiveWorld();
  const { node, timeline } = await fixture.database();
  const other = await fixture.gateway.enrolledHost();
  const messages = {
    "/v1/uploads": { node, timeline, names: ["logs/binlog.000001"] },
    "/v1/archived": { nodes: [{ node, timeline, through: "2026-01-01T00:00:00.000Z" }] },
    "/v1/recipe": { node, purpose: "verify" },
    "/v1/verified": { node, timeline, point: { at: "2026-01-01T00:00:00.000Z" }, ok: true, message: "fine" },
    "/v1/keyring": { node, keyring: "AAAA" },
  };
  for (const [path, message] of Object.entries(messages)) {
    expect({ path, ...(await fixture.gateway.post(other, path, message)) }).toMatchObject({ path, ...notFound });
    expect({ path, ...(await fixture.gateway.post(undefined, path, message)) }).toMatchObject({ path, status: 401 });
  }
  expect(await fixture.world.db.selectFrom("node_alerts").selectAll().execute()).toEqual([]);
  expect(await fixture.world.db.selectFrom("keyrings").selectAll().execute()).toEqual([]);
});

test("logs are recorded in order, once; a gap, another timeline and a wrong name are refused", async () => {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  const { uploadLog, reportArchived } = await fixture.database();
  const [one, two, three] = [await uploadLog(1, 1), await uploadLog(2, 2), await uploadLog(3, 3)];

  expect(await reportArchived({ logs: [two] })).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.logMissing({ missing: 1, sequence: 2 }).text }] },
  });
  expect(await reportArchived({ logs: [one, two] })).toMatchObject(ok);
  expect(await reportArchived({ logs: [two, three] })).toMatchObject(ok);
  expect(await reportArchived({ logs: [{ ...two, gtid: "other:1" }] })).toMatchObject({ status: 400 });
  expect(await reportArchived({ logs: [{ ...three, sequence: 4 }] })).toMatchObject({ status: 400 });
  const sequences = await world.db.selectFrom("binary_logs").select("sequence").orderBy("sequence").execute();
  expect(sequences.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
});

// The host died before the acknowledgement: the store has the second upload, encrypted with another key.
test("a log that was uploaded and reported again has the SHA-256 of the stored object", async () => {
  await using fixture = await archiveWorld();
  const { uploadLog, reportArchived } = await fixture.database();
  await reportArchived({ logs: [await uploadLog(1, 1)] });

  const again = await uploadLog(1, 1, "encrypted again");
  expect(await reportArchived({ logs: [again] })).toMatchObject(ok);

  const { sha256, bytes } = await fixture.world.db.selectFrom("binary_logs").selectAll().executeTakeFirstOrThrow();
  expect({ sha256, bytes }).toEqual({ sha256: again.sha256, bytes: again.bytes });
});

test("the next log follows the last one ever reported, even if retention has deleted all of them", async () => {
  await using fixture = await archiveWorld();
  const { uploadLog, reportArchived } = await fixture.database();
  await reportArchived({ logs: [await uploadLog(1, 1), await uploadLog(2, 2)] });
  await fixture.world.db.deleteFrom("binary_logs").execute();

  expect(await reportArchived({ logs: [await uploadLog(4, 4)] })).toMatchObject({ status: 400 });
  expect(await reportArchived({ logs: [await uploadLog(3, 3)] })).toMatchObject(ok);
});

test("the archived time only moves forward, and never into the future", async () => {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  const { timeline, reportArchived, minute } = await fixture.database();
  const through = async () =>
    (await world.db.selectFrom("timelines").selectAll().where("id", "=", timeline).executeTakeFirstOrThrow())
      .archived_through;
  const [early, late] = [minute(1), minute(5)];
  world.time.now = new Date(late);

  await reportArchived({ through: late });
  await reportArchived({ through: early });

  expect(await through()).toEqual(new Date(late));
  expect(await reportArchived({ through: new Date(world.time.now.getTime() + 3_600_000).toISOString() })).toMatchObject(
    {
      status: 400,
    },
  );
  expect(await reportArchived({ through: "yesterday" })).toMatchObject({ status: 400 });
  expect(await through()).toEqual(new Date(late));
});

test("while logs may have been forgotten, nothing counts as archived before the next log is reported", async () => {
  await using fixture = await archiveWorld();
  const { db } = fixture.world;
  const { uploadLog, reportArchived, minute } = await fixture.database();
  const { archived_through } = await db.selectFrom("timelines").selectAll().executeTakeFirstOrThrow();
  await db.updateTable("timelines").set({ gap_allowed: true }).execute();
  fixture.world.time.now = new Date(minute(9));
  const log = await uploadLog(7, -1);

  await reportArchived({ through: fixture.world.time.now.toISOString() });
  expect(await db.selectFrom("timelines").selectAll().execute()).toMatchObject([{ archived_through }]);
  expect(await reportArchived({ logs: [log], through: fixture.world.time.now.toISOString() })).toMatchObject(ok);

  const now = { archived_through: fixture.world.time.now, last_log: 7, gap_allowed: false };
  expect(await db.selectFrom("timelines").selectAll().execute()).toMatchObject([now]);
});

test("the last logs of a timeline that the database has left are recorded, another database's are not", async () => {
  await using fixture = await archiveWorld();
  const { world, gateway } = fixture;
  const mine = await fixture.database();
  const other = await fixture.database(mine.customer);
  const log = await mine.uploadLog(1, 1);
  await world.db.updateTable("timelines").set({ ended_at: world.time.now }).where("id", "=", mine.timeline).execute();
  const late = { timeline: mine.timeline, logs: [log] };

  expect(await gateway.post(other.host, "/v1/archived", { nodes: [{ node: other.node, ...late }] })).toMatchObject(
    notFound,
  );
  expect(await mine.reportArchived({ logs: [log] })).toMatchObject(ok);
});

test("a refusal for one node does not hold up the report of another", async () => {
  await using fixture = await archiveWorld();
  const [mine, other] = [await fixture.database(), await fixture.database()];
  const log = await mine.uploadLog(1, 1);
  const [bad, good] = [
    { node: other.node, timeline: other.timeline },
    { node: mine.node, timeline: mine.timeline, logs: [log] },
  ];

  expect(await fixture.gateway.post(mine.host, "/v1/archived", { nodes: [bad, good] })).toMatchObject(notFound);

  expect(await fixture.world.db.selectFrom("binary_logs").select("name").execute()).toEqual([{ name: log.name }]);
});

test("a copy counts once its manifest is stored as reported, and knows the first log that it lacks", async () => {
  await using fixture = await archiveWorld();
  const { world, store } = fixture;
  const { prefix, uploadLog, uploadCopy, reportArchived } = await fixture.database();
  const copy = await uploadCopy(2.5, 3);
  await reportArchived({ logs: [await uploadLog(1, 1)] });

  expect(await reportArchived({ copies: [{ ...copy, manifest_sha256: "0".repeat(64) }] })).toMatchObject({
    status: 400,
  });
  expect(await copies(world)).toEqual([]);
  expect(await reportArchived({ copies: [copy] })).toMatchObject(ok);
  expect(await reportArchived({ copies: [copy] })).toMatchObject(ok);
  expect(await copies(world)).toMatchObject([{ id: copy.id, parts: 2, first_log: 2 }]);

  // Closed before the copy started, and reported after it.
  await reportArchived({ logs: [await uploadLog(2, 2), await uploadLog(3, 4)] });
  expect(await copies(world)).toMatchObject([{ first_log: 3 }]);

  const swept = await uploadCopy(5, 6);
  await store.delete(`${prefix}copies/${swept.id}/manifest.json`);
  expect(await reportArchived({ copies: [swept] })).toMatchObject({ status: 400 });
});

test("a recipe has working addresses to the newest state and the key to open it, and is audited", async () => {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  const { id, call, uploadLog, uploadCopy, reportArchived, minute } = await fixture.database();
  const first = [await uploadLog(1, 1), await uploadLog(2, 2)];
  const [older, copy] = [await uploadCopy(0.5, 0.7, ["old"]), await uploadCopy(2.5, 3)];
  const logs = [...first, await uploadLog(3, 4), await uploadLog(4, 5)];
  const until = minute(4.5);
  world.time.now = new Date(minute(5));
  await reportArchived({ logs, copies: [older, copy], through: until });

  const { status, body } = await call<RecipeReply>("/v1/recipe", { purpose: "verify" });

  expect(status).toBe(200);
  const { base, logs: given, scrub = [], point } = body.recipe;
  if (base.kind !== "copy") throw new Error("The recipe should begin with the copy.");
  const read = async (url: string) => (await fetch(url)).text();
  expect(point).toEqual({ at: until });
  expect(JSON.parse(await read(base.manifest.url))).toMatchObject({ parts: [{}, {}] });
  expect(await Promise.all(base.parts.map(read))).toEqual(["one", "two"]);
  expect(await Promise.all(given.map(({ url }) => read(url)))).toEqual(["log 3", "log 4"]);
  expect(given.map(({ before }) => before)).toEqual([undefined, until]);
  const rest = await Promise.all(scrub.map(({ url }) => read(url)));
  expect(rest).toEqual(["log 2", "log 1", expect.stringContaining("parts"), "old"]);
  const account = (await world.databaseRow(id)).account_id;
  expect(base.identity).toBe(await openArchiveKey(world.db, world.sealer, { account_id: account, id }));
  expect((await world.audit()).filter(({ action }) => action === "read_archive_key")).toMatchObject([
    { target: `database/${id}` },
  ]);
});

test("a verification reads every other kept object, also a damaged or missing manifest", async () => {
  await using fixture = await archiveWorld();
  const { store } = fixture;
  const { prefix, call, uploadCopy, reportArchived } = await fixture.database();
  const newest = await uploadCopy(-1, 0);
  const [gone, broken] = [await uploadCopy(-3, -2), await uploadCopy(-5, -4)];
  await reportArchived({ copies: [newest, gone, broken] });
  await store.delete(`${prefix}copies/${gone.id}/manifest.json`);
  store.flipByte(`${prefix}copies/${broken.id}/manifest.json`);

  const { body } = await call<RecipeReply>("/v1/recipe", { purpose: "verify" });

  const { base, scrub = [] } = body.recipe;
  expect(base).toMatchObject({ kind: "copy", gtid: newest.gtid });
  expect(scrub.map(({ sha256 }) => sha256)).toEqual([gone.manifest_sha256, broken.manifest_sha256]);
});

test("a verification restores the newest daily point, without one the newest snapshot", async () => {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  const { id, customer, timeline, call, uploadCopy, uploadLog, reportArchived, minute } = await fixture.database();
  const copy = await uploadCopy(1, 2);
  const logs = [await uploadLog(1, 5)];
  const [point, snapshotAt] = [new Date(minute(4)), new Date(minute(3))];
  world.time.now = new Date(minute(5));
  await reportArchived({ logs, copies: [copy], through: world.time.now.toISOString() });
  const backup = { account_id: customer.accountId, database_id: id, timeline_id: timeline, created_at: world.time.now };
  const insert = (row: object) =>
    world.db
      .insertInto("backups")
      .values({ ...backup, ...row } as never)
      .returning("id")
      .executeTakeFirstOrThrow();
  const ask = async () => (await call<RecipeReply>("/v1/recipe", { purpose: "verify" })).body.recipe;

  const snapshot = await insert({ type: "snapshot", label: "s", copy_id: copy.id, point_at: snapshotAt });
  expect(await ask()).toMatchObject({ point: { backup: snapshot.id }, base: { kind: "copy" }, logs: [] });
  const daily = await insert({ type: "auto", label: "d", copy_id: null, point_at: point });
  expect(await ask()).toMatchObject({
    point: { backup: daily.id, at: point.toISOString() },
    logs: [{ name: "binlog.000001", before: point.toISOString() }],
  });
});

test("a verification whose backup no restore reaches has failed, and its tenant is told once", async () => {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  const { id, customer, timeline, call, uploadCopy, reportArchived } = await fixture.database();
  const copy = await uploadCopy(1, 2);
  world.time.now = new Date(world.time.now.getTime() + 600_000);
  await reportArchived({ copies: [copy] });
  const ask = () => call("/v1/recipe", { purpose: "verify" });
  const failures = async () =>
    (await world.events()).filter(
      ({ action, status }) => action === "database_backup_verification" && status === "failed",
    );
  await world.db
    .insertInto("backups")
    .values({
      account_id: customer.accountId,
      database_id: id,
      timeline_id: timeline,
      created_at: world.time.now,
      type: "auto",
      label: "d",
      copy_id: null,
      // The archive does not reach it.
      point_at: new Date(world.time.now.getTime() + 60_000),
    })
    .execute();

  expect(await ask()).toMatchObject({ status: 400 });
  await world.run("alerts");
  expect(await ask()).toMatchObject({ status: 400 });
  await world.run("alerts");

  expect(await failures()).toHaveLength(1);
});

test("a new timeline has its parent's data up to the branch point, and only until it was written to", async () => {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  const { id, customer, node, timeline, call, uploadLog, reportArchived, minute } = await fixture.database();
  const logs = [await uploadLog(1, 1), await uploadLog(2, 5), await uploadLog(3, 9)];
  const until = new Date(minute(4));
  world.time.now = new Date(minute(10));
  await reportArchived({ logs, through: world.time.now.toISOString() });
  const child = "11111111-1111-4111-8111-111111111111";
  await world.db
    .insertInto("timelines")
    .values({
      account_id: customer.accountId,
      database_id: id,
      id: child,
      ordinal: 1,
      prepared: null,
      parent_id: timeline,
      parent_copy_id: null,
      parent_until: until,
      next_point_at: null,
      created_at: world.time.now,
      archived_through: world.time.now,
    })
    .execute();
  const { desired_spec } = await world.db
    .selectFrom("nodes")
    .selectAll()
    .where("id", "=", node)
    .executeTakeFirstOrThrow();
  const data = { timeline: child, ordinal: 1, origin: "archive" };
  expect(await call("/v1/recipe", { purpose: "data" })).toMatchObject(notFound);
  await world.db
    .updateTable("nodes")
    .set({ desired_spec: JSON.stringify({ ...desired_spec, data }) })
    .where("id", "=", node)
    .execute();

  const { body } = await call<RecipeReply>("/v1/recipe", { purpose: "data" });

  expect(body.recipe).toMatchObject({
    point: { at: until.toISOString() },
    base: { kind: "prepared", sha256: "b".repeat(64) },
    logs: [{ name: "binlog.000001" }, { name: "binlog.000002", before: until.toISOString() }],
  });
  expect(body.recipe.logs).toHaveLength(2);
  await world.db.updateTable("timelines").set({ last_log: 1 }).where("id", "=", child).execute();
  expect(await call("/v1/recipe", { purpose: "data" })).toMatchObject({ status: 400 });
});

test("the result of a verification is stored for the worker; reported again, it is one alert", async () => {
  await using fixture = await archiveWorld();
  const { id, node, timeline, call } = await fixture.database();
  const verification = {
    timeline,
    point: { backup: 7, at: "2026-01-01T00:00:00.000Z" },
    ok: false,
    message: "A log is missing.",
  };

  expect(await call("/v1/verified", verification)).toMatchObject(ok);
  expect(await call("/v1/verified", verification)).toMatchObject(ok);
  expect(await call("/v1/verified", { ...verification, timeline: node })).toMatchObject(notFound);

  const alerts = await fixture.world.db.selectFrom("node_alerts").selectAll().execute();
  expect(alerts).toMatchObject([{ database_id: id, node_id: node, kind: "verification", detail: verification }]);
});

test("a node's keys are stored sealed and bound to the node, and returned with its secrets", async () => {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  const [mine, other] = [await fixture.database(), await fixture.database()];
  const keyring = Buffer.from("the keys").toString("base64");
  expect((await mine.call("/v1/secrets", {})).body).not.toHaveProperty("keyring");

  await mine.call("/v1/keyring", { keyring: "AAAA" });
  expect(await mine.call("/v1/keyring", { keyring })).toMatchObject(ok);

  expect(await mine.call("/v1/secrets", {})).toMatchObject({ status: 200, body: { keyring, protocol: PROTOCOL } });
  const { keyring: sealed } = await world.db.selectFrom("keyrings").selectAll().executeTakeFirstOrThrow();
  expect(sealed).not.toContain(keyring);
  expect((await world.audit()).filter(({ action }) => action === "store_keyring")).toHaveLength(2);
  await world.db
    .insertInto("keyrings")
    .values({ account_id: other.customer.accountId, node_id: other.node, keyring: sealed, reported_at: world.time.now })
    .execute();
  expect(await other.call("/v1/secrets", {})).toMatchObject({ status: 500 });
});

test("the age program decrypts what hosts encrypted, with the sealed identity of the database", async () => {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  const { id, customer, spec } = await fixture.database();
  const folder = mkdtempSync(join(tmpdir(), "moorage-age-"));
  try {
    const recipient = spec.archive?.recipient as string;
    const sealed = execFileSync("age", ["-r", recipient], { input: "what it was" });
    const identity = await openArchiveKey(world.db, world.sealer, { account_id: customer.accountId, id });
    writeFileSync(join(folder, "identity"), identity, { mode: 0o600 });
    expect(execFileSync("age", ["-d", "-i", join(folder, "identity")], { input: sealed }).toString()).toBe(
      "what it was",
    );
    const row = await world.db.selectFrom("archives").selectAll().executeTakeFirstOrThrow();
    expect(row.identity).not.toContain("AGE-SECRET-KEY");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
