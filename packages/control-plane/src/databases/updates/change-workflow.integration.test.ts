import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseOnAgent, shortenDeadline, until, untilSettled } from "#testing/database-on-agent.ts";
import { startTemporal, type Temporal } from "#testing/temporal.ts";
import { ENGINE, newWorld, PLAN, type World } from "#testing/world.ts";
import { texts } from "../model/texts.ts";
import { texts as operationTexts } from "../workflows/texts.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

const NEWER = "c".repeat(64);
const LARGE = { id: "m1-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };
type OnAgent = Awaited<ReturnType<typeof databaseOnAgent>>;

async function withChoices(world: World): Promise<void> {
  await world.operator.post("/admin/plans", LARGE);
}
const setEngineImage = (world: World) => world.operator.post(`/admin/engines/${ENGINE}/image`, { image: NEWER });
const post =
  (action: string) =>
  ({ alice, url }: OnAgent) =>
    alice.post(`${url}/${action}`);

/** The request, how its spec differs from the previous one, and what is shown after success and failure. */
const changes = [
  {
    name: "resize",
    ask: ({ alice, url }: OnAgent) => alice.put(url, { type: LARGE.id }),
    isNew: (spec: NodeSpec) => spec.resources.disk_mb === LARGE.disk_mb,
    done: { status: "active", type: LARGE.id },
    failed: { status: "active", type: PLAN },
  },
  {
    name: "suspend",
    ask: post("suspend"),
    isNew: (spec: NodeSpec) => spec.power === "off",
    done: { status: "suspended" },
    failed: { status: "active" },
  },
  {
    name: "patch",
    ask: post("patch"),
    isNew: (spec: NodeSpec) => spec.engine.image === NEWER,
    done: { status: "active", updates: { pending: [] } },
    failed: { status: "active", updates: { pending: [{ deadline: null }] } },
  },
] as const;

test.each(changes)("$name: its host applies it, and the event is finished", async ({ ask, isNew, done }) => {
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal);
  await withChoices(world);
  await setEngineImage(world);
  await database.work();

  expect(await ask(database)).toMatchObject({ status: 200 });
  await untilSettled(world);

  expect((await database.alice.get(database.url)).body).toMatchObject(done);
  expect((await world.events()).at(-1)).toMatchObject({ status: "finished" });
  expect(isNew(database.specOnHost())).toBe(true);
});

test.each(changes)("$name: its host fails, and all is as before on the host too", async ({ ask, isNew, failed }) => {
  const refuse = (spec: NodeSpec): Partial<NodeReport> =>
    isNew(spec) ? { state: "failed", message: "it is broken" } : {};
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal, refuse);
  await withChoices(world);
  await setEngineImage(world);
  await database.work();

  await ask(database);
  await untilSettled(world);

  expect((await database.alice.get(database.url)).body).toMatchObject(failed);
  expect((await world.events()).at(-1)).toMatchObject({
    status: "failed",
    message: expect.stringContaining("it is broken"),
  });
  await until(async () => database.specOnHost().generation === 3);
  expect(isNew(database.specOnHost())).toBe(false);
});

test("resume: active after success, still suspended when its host fails", async () => {
  let broken = true;
  const refuse = (spec: NodeSpec): Partial<NodeReport> =>
    spec.generation > 2 && spec.power === undefined && broken ? { state: "failed", message: "it is broken" } : {};
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal, refuse);
  await database.work();
  await post("suspend")(database);
  await untilSettled(world);

  await post("resume")(database);
  await untilSettled(world);
  expect((await database.alice.get(database.url)).body).toMatchObject({ status: "suspended" });
  await until(async () => database.specOnHost().power === "off");

  broken = false;
  await post("resume")(database);
  await untilSettled(world);
  expect((await database.alice.get(database.url)).body).toMatchObject({ status: "active" });
  expect(database.specOnHost().power).toBeUndefined();
});

test("reset: in force when its host has it", async () => {
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal);
  await post("credentials/reset")(database);
  await database.work();
  await untilSettled(world);
  expect((await world.events()).at(-1)).toMatchObject({ action: "database_credentials_reset", status: "finished" });
  expect(database.specOnHost().credentials.version).toBe(2);
});

test("reset: with a host that is away at the deadline, it stays desired until the host is back", async () => {
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal);
  await database.silence();
  await post("credentials/reset")(database);
  await shortenDeadline(world, 1000);
  await database.work();
  await untilSettled(world);

  expect((await world.events()).at(-1)).toMatchObject({
    status: "failed",
    message_code: texts.passwordNotSet({ why: "" }).code,
  });
  expect((await world.nodes())[0]?.desired_spec).toMatchObject({ credentials: { version: 2 } });
  expect((await database.alice.get(database.url)).body).toMatchObject({ status: "active" });
});

test("no room: nothing is sent to the host, and the type is the previous one", async () => {
  await using world = await newWorld();
  await using database = await databaseOnAgent(world, temporal);
  await withChoices(world);
  await world.db
    .updateTable("hosts")
    .set({ disk_mb: LARGE.disk_mb - 1 })
    .execute();
  await database.work();

  await database.alice.put(database.url, { type: LARGE.id });
  await untilSettled(world);

  expect((await database.alice.get(database.url)).body).toMatchObject({ status: "active", type: PLAN });
  expect((await world.events()).at(-1)).toMatchObject({
    action: "database_resize",
    status: "failed",
    message: texts.resizeFailed({ why: operationTexts.noCapacityOnHost().text }).text,
  });
});
