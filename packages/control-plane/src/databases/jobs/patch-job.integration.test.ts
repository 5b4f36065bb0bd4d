import type { Updates } from "@moorage/contract";
import { trials } from "@moorage/testkit/turns.ts";
import { expect, test } from "vitest";
import { createEventPartitionsJob } from "#events/index.ts";
import { databaseFixture, updatesOf } from "#testing/active-database.ts";
import { ENGINE, newWorld, type World } from "#testing/world.ts";
import { windowAt } from "../model/maintenance-window.ts";

const [MADE_WITH, NEWER] = ["a".repeat(64), "c".repeat(64)];
const HOUR_MS = 3_600_000;
const setEngineImage = (world: World, image: string) =>
  world.operator.post(`/admin/engines/${ENGINE}/image`, { image });
const goTo = (world: World, text: string): void => {
  world.time.now = new Date(`${text}Z`);
};
const patches = async (world: World) => (await world.openOperations()).filter((kind) => kind === "patchDatabase");

/** A Wednesday; the default window is Sunday, 20:00 to 23:00. */
const WEDNESDAY = "2026-11-18T12:00:00";
const SUNDAY = "2026-11-22";

async function withNewerImage(world: World) {
  goTo(world, WEDNESDAY);
  const fixture = await databaseFixture(world);
  await setEngineImage(world, NEWER);
  return fixture;
}

test("a newer image waits for the start of the window, and is shown as pending", async () => {
  await using world = await newWorld();
  const { alice, database } = await withNewerImage(world);

  for (const moment of [WEDNESDAY, `${SUNDAY}T19:59:59`]) {
    goTo(world, moment);
    await world.run("patches");
    expect(await patches(world)).toEqual([]);
  }
  expect((await alice.get(database.url)).body).toMatchObject({
    status: "active",
    updates: { pending: [{ deadline: null, planned_for: `${SUNDAY}T20:00:00` }] },
  });
  goTo(world, `${SUNDAY}T20:00:00`);
  await world.run("patches");

  expect(await patches(world)).toEqual(["patchDatabase"]);
  expect((await alice.get(database.url)).body).toMatchObject({ status: "updating", updates: { pending: [] } });
  expect((await updatesOf(world)).at(-1)).toMatchObject({ status: "started", username: null });
  await world.run("patches");
  expect(await patches(world)).toEqual(["patchDatabase"]);
});

test("a patch that cannot end inside the window waits for the next one", async () => {
  await using world = await newWorld();
  const { database } = await withNewerImage(world);
  goTo(world, `${SUNDAY}T22:50:01`);

  await world.run("patches");

  expect(await patches(world)).toEqual([]);
  expect(await world.databaseRow(database.id)).toMatchObject({ patch_due_at: new Date("2026-11-29T20:00:00Z") });
});

test("a patch that starts late in the window has only the rest of it", async () => {
  await using world = await newWorld();
  await withNewerImage(world);
  goTo(world, `${SUNDAY}T22:48:00`);

  await world.run("patches");

  expect((await world.lastOperation()).deadline_at).toEqual(new Date(`${SUNDAY}T23:00:00Z`));
});

test("a control plane that was down over the window patches in the next one", async () => {
  await using world = await newWorld();
  const { database } = await withNewerImage(world);
  goTo(world, "2026-11-24T09:00:00");

  await world.run("patches");

  expect(await patches(world)).toEqual([]);
  expect(await world.databaseRow(database.id)).toMatchObject({ patch_due_at: new Date("2026-11-29T20:00:00Z") });
});

test("a busy database is tried again in the same window; one that stays busy, in the next", async () => {
  await using world = await newWorld();
  const { database } = await withNewerImage(world);
  const setStatus = (status: "backing_up" | "active") =>
    world.db.updateTable("databases").set({ status }).where("id", "=", database.id).execute();
  await setStatus("backing_up");
  goTo(world, `${SUNDAY}T20:00:00`);
  await world.run("patches");
  expect(await patches(world)).toEqual([]);

  await setStatus("active");
  goTo(world, `${SUNDAY}T20:05:00`);
  await world.run("patches");
  expect(await patches(world)).toEqual(["patchDatabase"]);
});

test("a patch that could not be sent to Temporal within its window does not start after it", async () => {
  await using world = await newWorld();
  await withNewerImage(world);
  goTo(world, `${SUNDAY}T22:45:00`);
  await world.run("patches");
  const { id } = await world.lastOperation();
  goTo(world, `${SUNDAY}T23:00:00`);

  expect(await world.activities.applyChange(id)).toBe("too late");
});

test("another window moves a pending patch; the same one leaves it", async () => {
  await using world = await newWorld();
  const { alice, database } = await withNewerImage(world);
  const plannedFor = async (body: object) =>
    (await alice.put<{ updates: { pending: { planned_for: string }[] } }>(database.url, body)).body.updates.pending;

  const { body } = await alice.get<{ updates: object }>(database.url);
  goTo(world, `${SUNDAY}T20:00:01`);
  for (const same of [{ updates: body.updates }, { label: "renamed" }])
    expect(await plannedFor(same)).toMatchObject([{ planned_for: `${SUNDAY}T20:00:00` }]);
  goTo(world, WEDNESDAY);
  expect(await plannedFor({ updates: { day_of_week: 5, hour_of_day: 3 } })).toMatchObject([
    { planned_for: "2026-11-20T03:00:00" },
  ]);
  expect(
    await plannedFor({ updates: { frequency: "monthly", week_of_month: 1, day_of_week: 2, hour_of_day: 23 } }),
  ).toMatchObject([{ planned_for: "2026-12-01T23:00:00" }]);
});

test("a withdrawn image is pending nowhere; a new database has the newest from the start", async () => {
  await using world = await newWorld();
  const { alice, database } = await withNewerImage(world);
  const { id } = (await alice.create()).body;
  await world.activities.setDesiredNodes((await world.lastOperation()).id);
  expect(await world.databaseRow(id)).toMatchObject({ image: NEWER, patch_due_at: null });

  expect(await setEngineImage(world, MADE_WITH)).toMatchObject({ status: 200, body: { image: MADE_WITH } });

  expect(await world.databaseRow(database.id)).toMatchObject({ image: MADE_WITH, patch_due_at: null });
  expect(await world.databaseRow(id)).toMatchObject({ patch_due_at: new Date(`${SUNDAY}T20:00:00Z`) });
});

test("publishing the same image again, even inside a window, delays nothing", async () => {
  await using world = await newWorld();
  const { database } = await withNewerImage(world);
  const { patch_due_at } = await world.databaseRow(database.id);
  goTo(world, `${SUNDAY}T20:30:00`);

  expect(await setEngineImage(world, NEWER)).toMatchObject({ body: { databases: 1 } });
  expect(await world.databaseRow(database.id)).toMatchObject({ patch_due_at });
  await world.run("patches");
  expect(await patches(world)).toEqual(["patchDatabase"]);
});

test("an unknown engine version and a digest that is no SHA-256 are refused", async () => {
  await using world = await newWorld();

  expect(await world.operator.post("/admin/engines/mysql/1.0/image", { image: NEWER })).toMatchObject({ status: 404 });
  expect(await setEngineImage(world, "latest")).toMatchObject({
    status: 400,
    body: { errors: expect.arrayContaining([expect.objectContaining({ field: "image" })]) },
  });
});

test("what is due is found by its index, however many databases there are", async () => {
  await using world = await newWorld();
  await withNewerImage(world);
  goTo(world, WEDNESDAY);
  const plan = await world.db
    .selectFrom("databases")
    .select(["account_id", "id"])
    .where("patch_due_at", "<=", world.time.now)
    .where("deleted_at", "is", null)
    .orderBy("patch_due_at")
    .limit(100)
    .explain("text");
  expect(JSON.stringify(plan)).toContain("databases_to_patch");
});

const days = [1, 2, 3, 4, 5, 6, 7];
/** Every day of every week, weekly and monthly, at hours whose windows lie within a day and over midnight. */
const yearOfWindows: Updates[] = days.flatMap((day_of_week) =>
  [0, 11, 23].flatMap((hour_of_day, n) => [
    { frequency: "weekly" as const, duration: n + 1, hour_of_day, day_of_week, week_of_month: null },
    ...[1, 2, 3, 4].map((week_of_month) => ({
      frequency: "monthly" as const,
      duration: n + 1,
      hour_of_day,
      day_of_week,
      week_of_month,
    })),
  ]),
);

/** Of 2028. */
const MONTHS = trials({ short: 3, all: 12 });

test(`over ${MONTHS} months of monthly images each database is patched once inside its window, at its version`, async () => {
  await using world = await newWorld();
  goTo(world, "2027-12-31T00:30:00");
  const partitions = createEventPartitionsJob(world);
  await partitions();
  const { database: model } = await databaseFixture(world);
  const { id: _id, timeline_id: _timeline, ...row } = await world.databaseRow(model.id);
  const asRow = (updates: Updates, n: number) => ({ ...row, label: `window-${n}`, updates: JSON.stringify(updates) });
  await world.db.insertInto("databases").values(yearOfWindows.map(asRow)).execute();
  const [started, outside] = [new Map<string, number>(), [] as string[]];
  let month = 0;
  let image = MADE_WITH;

  for (let hour = 0; Date.UTC(2028) + hour * HOUR_MS < Date.UTC(2028, MONTHS); hour++) {
    // At varying minutes of the hour.
    const now = new Date(Date.UTC(2028) + hour * HOUR_MS + ((hour * 7) % 50) * 60_000);
    world.time.now = now;
    await partitions();
    if (now.getUTCMonth() + 1 !== month) {
      month = now.getUTCMonth() + 1;
      image = month.toString(16).repeat(64);
      await setEngineImage(world, image);
    }
    // Every thirteenth day the control plane is down, whatever windows there are.
    if (Math.floor(hour / 24) % 13 === 0) continue;
    await world.run("patches");
    for (const { id, entity_id } of await opened(world)) {
      const { updates, label, engine_version } = await world.databaseRow(entity_id);
      const key = `${label} ${month}`;
      started.set(key, (started.get(key) ?? 0) + 1);
      if (windowAt(updates, now) === undefined || engine_version !== ENGINE)
        outside.push(`${key} ${now.toISOString()}`);
      await world.activities.endChange(id, { done: true });
    }
  }

  expect(outside).toEqual([]);
  expect([...started.values()].filter((times) => times !== 1)).toEqual([]);
  console.log(`windows: ${yearOfWindows.length} databases, ${started.size} patches, ${outside.length} outside`);
  expect(started.size).toBeGreaterThan(yearOfWindows.length * (MONTHS - 2));
  const rows = await world.db.selectFrom("databases").select(["image", "engine_version", "status"]).execute();
  expect(new Set(rows.map(({ engine_version }) => engine_version))).toEqual(new Set([ENGINE]));
  expect(rows.filter((each) => each.image === image).length).toBeGreaterThan(yearOfWindows.length * 0.8);
}, 1_800_000);

const opened = (world: World) =>
  world.db
    .selectFrom("operations")
    .select(["id", "entity_id"])
    .where("settled_at", "is", null)
    .where("kind", "=", "patchDatabase")
    .execute();
