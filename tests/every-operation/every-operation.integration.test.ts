import { type Operation, operations } from "@moorage/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startPrometheus } from "../../packages/control-plane/src/testing/prometheus.ts";
import { newWorld, type World } from "../../packages/control-plane/src/testing/world.ts";
import { type Cell, cellsOf, nobodies } from "./cells.ts";
import { type ExpectedAccess, expectedAccess } from "./expected-access.ts";
import { ask, fillPath, faultOf } from "./outcome.ts";
import { absent, newStage, type Stage } from "./stage.ts";

const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;
const byName = operations.map((operation) => [nameOf(operation), operation] as const);
const expectedOf = (name: string): ExpectedAccess => {
  const expected = expectedAccess[name];
  if (expected === undefined) throw new Error(`${name} has no row in expected-access.ts`);
  return expected;
};

const isRefused = ({ expected }: Cell): boolean => expected !== "allowed";

let prometheus: Awaited<ReturnType<typeof startPrometheus>>;
let world: World;
beforeAll(async () => {
  prometheus = await startPrometheus(() => "");
  world = await newWorld({ prometheusUrl: prometheus.url });
  await world.host({ memory_mb: 1_024_000, disk_mb: 10_240_000 });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await prometheus[Symbol.asyncDispose]();
});

let asked = 0;
afterAll(() => console.log(`every-operation: ${operations.length} operations, ${asked} cells`));

async function faultsOf(operation: Operation, cells: Cell[], path: string): Promise<string[]> {
  const found: string[] = [];
  for (const { who, authorization, expected, target } of cells) {
    asked++;
    const reply = await ask(world, operation, fillPath(path, target), authorization);
    const fault = faultOf(operation, reply, expected);
    if (fault !== undefined) found.push(`${who}: ${fault}`);
  }
  return found;
}

test("the fixture has a row for every operation, and none for another", () => {
  expect(Object.keys(expectedAccess).toSorted()).toEqual(byName.map(([name]) => name).toSorted());
});

test.each(byName)("%s: the table says what the fixture says", (name, operation) => {
  const expected = expectedOf(name);
  expect(saidOf(operation, expected)).toEqual(expected);
});

/** An object that the table does not name, such as an event, is judged by its capability: only the cells can tell. */
function saidOf({ access }: Operation, expected: ExpectedAccess): ExpectedAccess {
  if (access === "public") return access;
  const { scopes, unrestrictedOnly, grant, entity } = access;
  const object = entity?.permission ?? (expected === "public" ? undefined : expected.object);
  return {
    scopes,
    ...(unrestrictedOnly === undefined ? {} : { unrestrictedOnly }),
    ...(grant === undefined ? {} : { grant }),
    ...(object === undefined ? {} : { object }),
  };
}

test.each(byName)("%s answers every principal as it must, and a refusal changes nothing", async (name, operation) => {
  const stage = await newStage(world);
  const cells = await cellsOf(operation, expectedOf(name), stage);
  const [refused, letIn] = [cells.filter(isRefused), cells.filter((cell) => !isRefused(cell))];
  const before = await recordOf();

  expect(await faultsOf(operation, refused, operation.path)).toEqual([]);
  expect(await recordOf()).toEqual(before);
  expect(await faultsOf(operation, letIn, operation.path)).toEqual([]);
});

const otherPaths = byName.flatMap(([name, operation]) =>
  [operation.path.replace("/v4/", "/v4beta/"), ...(operation.aliases ?? [])].map(
    (path) => [`${operation.method} ${path}`, name, operation, path] as const,
  ),
);
let shared: Stage | undefined;
test.each(otherPaths)("%s is no way around", async (_title, name, operation, path) => {
  const stage = (shared ??= await newStage(world));
  const target = await stage.target([...path.matchAll(/:(\w+)/g)].map(([, param = ""]) => param));
  const nobody = { who: "nobody", authorization: undefined, expected: "no token", target } as const;
  const cells = [...nobodies(stage, target), ...(expectedOf(name) === "public" ? [] : [nobody])];

  expect(await faultsOf(operation, cells, path)).toEqual([]);
});

const onObjects = byName.filter(([name, { path }]) => path.includes(":") && expectedOf(name) !== "public");
test.each(onObjects)("%s: what is another's cannot be told from what does not exist", async (_, operation) => {
  const stage = await newStage(world);
  const target = await stage.target([...operation.path.matchAll(/:(\w+)/g)].map(([, param = ""]) => param));
  const strangers = [stage.stranger, await stage.restricted()];

  for (const token of strangers) {
    asked += 2;
    const theirs = await ask(world, operation, fillPath(operation.path, target), `Bearer ${token}`);
    const none = await ask(world, operation, fillPath(operation.path, absent(target)), `Bearer ${token}`);
    expect(theirs).toEqual(none);
  }
});

// A list below an object is that object's: who may not see it finds no list.
/** What a grant for the whole account opens is all of it, or nothing. */
const isOfObjects = (expected: ExpectedAccess): boolean => expected !== "public" && expected.grant === undefined;
const lists = byName.filter(
  ([name, { paged, path }]) => paged === true && !path.includes(":") && isOfObjects(expectedOf(name)),
);
test.each(lists)(
  "%s shows nothing of another account, nor what a restricted user may not see",
  async (_, operation) => {
    const stage = await newStage(world);
    const first = await stage.target(["instanceId"]);
    await stage.target(["instanceId"]);
    const resultsFor = async (token: string): Promise<unknown> => {
      asked++;
      const { text } = await ask(world, operation, operation.path, `Bearer ${token}`);
      return (JSON.parse(text) as { results?: number }).results;
    };

    expect(await resultsFor(stage.owner)).toBe(2);
    expect(await resultsFor(stage.stranger)).toBe(0);
    expect(await resultsFor(await stage.restricted())).toBe(0);
    expect(await resultsFor(await stage.restricted({ on: [first, "read_only"] }))).toBe(1);
  },
);

/** Everything that a change would leave behind. */
async function recordOf(): Promise<object> {
  const [databases, backups, events, operationsOpened, audit, read, seen] = await Promise.all([
    world.db.selectFrom("databases").selectAll().orderBy("id").execute(),
    world.db.selectFrom("backups").selectAll().orderBy("id").execute(),
    world.events(),
    world.db.selectFrom("operations").selectAll().orderBy("id").execute(),
    world.audit(),
    world.db.selectFrom("event_reads").selectAll().execute(),
    world.db.selectFrom("event_watermarks").selectAll().execute(),
  ]);
  return { databases, backups, events, operationsOpened, audit, read, seen };
}
