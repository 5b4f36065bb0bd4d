import { type Operation, operations, pathsOf } from "@moorage/contract";
import { startPrometheus } from "@moorage/testkit/prometheus.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newWorld, type World } from "../../packages/control-plane/src/testing/world.ts";
import { type Cell, cellsOf, namesIn, nobodies, ofNobody } from "./cells.ts";
import { type ExpectedAccess, everyGrant, expectedAccess } from "./expected-access.ts";
import { listed, type Reader, sees } from "./lists.ts";
import { sendRequest, BAD_BODY, fillPath, faultOf, type Reply } from "./outcome.ts";
import { newCompute, newMaintenance } from "./money.ts";
import { recordOf } from "./record.ts";
import { absent, type Held, namesAnObject, newFixture, type Fixture, type Target, tokenKinds } from "./fixture.ts";

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
/** Shared by all operations: creating users and tokens takes longer than the requests. */
let fixture: Fixture;
beforeAll(async () => {
  prometheus = await startPrometheus(() => "");
  world = await newWorld({ prometheusUrl: prometheus.url });
  await world.host({ memory_mb: 10_240_000, disk_mb: 102_400_000 });
  fixture = await newFixture(world);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await prometheus[Symbol.asyncDispose]();
});

let requestCount = 0;
let wrong = 0;
afterAll(() => console.log(`every-operation: ${operations.length} operations, ${requestCount} cells, ${wrong} wrong`));

async function faultsOf(operation: Operation, cells: Cell[], path: string): Promise<string[]> {
  const found: string[] = [];
  for (const { who, authorization, expected, target } of cells) {
    requestCount++;
    // A permitted user with a valid body would cancel the fixture's own account.
    const body = expected === "allowed" && operation.id !== "cancelAccount" ? "{}" : BAD_BODY;
    const reply = await sendRequest(world, operation, fillPath(path, target), authorization, body);
    const fault = faultOf(operation, reply, expected);
    if (fault !== undefined) found.push(`${who}: ${fault}`);
  }
  wrong += found.length;
  return found;
}

test("the fixture has exactly one row for every operation", () => {
  expect(Object.keys(expectedAccess).toSorted()).toEqual(byName.map(([name]) => name).toSorted());
});

test.each(byName)("%s: the operation table agrees with the fixture", (name, operation) => {
  const expected = expectedOf(name);
  expect(accessInTable(operation, expected)).toEqual(expected);
});

/**
 * An object that the table does not name, such as an event, is checked by its capability: only the cells can show that.
 */
function accessInTable({ access, scopesIfSent }: Operation, expected: ExpectedAccess): ExpectedAccess {
  const judged = expected === "public" ? undefined : expected.object;
  if (access === "public")
    return scopesIfSent === undefined
      ? access
      : { scopes: scopesIfSent, ...(judged === undefined ? {} : { object: judged }), operatorsForAll: true };
  const { scopes, confirmed, unrestrictedOnly, grant, entity } = access;
  const object = entity?.permission ?? judged;
  return {
    scopes,
    ...(confirmed === undefined ? {} : { confirmed }),
    ...(unrestrictedOnly === undefined ? {} : { unrestrictedOnly }),
    ...(grant === undefined ? {} : { grant }),
    ...(object === undefined ? {} : { object }),
  };
}

test.each(byName)("%s answers every principal as expected, and a refusal changes nothing", async (name, operation) => {
  if (operation.id === "createPaymentMethodLink") await fixture.removeCards();
  const cells = await cellsOf(operation, expectedOf(name), fixture);
  const [refused, letIn] = [cells.filter(isRefused), cells.filter((cell) => !isRefused(cell))];
  const before = await recordOf(world);

  expect(await faultsOf(operation, refused, operation.path)).toEqual([]);
  expect(await recordOf(world)).toEqual(before);
  expect(await faultsOf(operation, letIn, operation.path)).toEqual([]);
});

const otherPaths = byName.flatMap(([name, operation]) =>
  [operation.path.replace("/v4/", "/v4beta/"), ...pathsOf(operation).slice(1)].map(
    (path) => [`${operation.method} ${path}`, name, operation, path] as const,
  ),
);
test.each(otherPaths)("%s does not bypass authentication", async (_title, name, operation, path) => {
  const target = await fixture.shared(namesIn(path));
  const expected = ofNobody(expectedOf(name), namesIn(path));
  const cells = [...nobodies(fixture, target), { who: "nobody", authorization: undefined, expected, target }];

  expect(await faultsOf(operation, cells, path)).toEqual([]);
});

const objectOf = (name: string) => {
  const expected = expectedOf(name);
  return expected === "public" ? undefined : expected.object;
};
function withoutParams({ status, text, headers }: Reply, { params }: Target) {
  const { "content-length": _length, ...others } = headers;
  const valuePattern = ([, value]: [string, string]): RegExp => new RegExp(` ${RegExp.escape(value)}(?![\\w/-])`);
  const words = Object.entries(params).reduce(
    (before, param) => before.replace(valuePattern(param), ` :${param[0]}`),
    text,
  );
  return { status, text: words, headers: others };
}
const onObjects = byName.filter(([name, { path }]) => namesAnObject(namesIn(path)) && expectedOf(name) !== "public");
test.each(onObjects)("%s: another account's object is answered like a missing one", async (name, operation) => {
  const target = await fixture.shared(namesIn(operation.path));
  const object = objectOf(name);
  const strangers = [
    await fixture.restricted(),
    ...(object === "bearer" ? [] : [fixture.stranger]),
    ...(object === "own" ? [fixture.colleague] : []),
  ];

  for (const person of strangers)
    for (const kind of tokenKinds) {
      requestCount += 2;
      const bearer = `Bearer ${await fixture.token(person, ["*"], kind)}`;
      const theirs = await sendRequest(world, operation, fillPath(operation.path, target), bearer);
      const none = await sendRequest(world, operation, fillPath(operation.path, absent(target)), bearer);
      // A refusal repeats the requested id, and nothing else may differ.
      expect(withoutParams(theirs, target)).toEqual(withoutParams(none, absent(target)));
    }
});

const lists = byName.filter(([name, { paged, path }]) => paged === true && !path.includes(":") && name in listed);
test("every list of an account's objects is checked", () => {
  // Notifications depend on their cause, availability is the same for all, and maintenance is checked below.
  const others = ["availability", "maintenance", "notifications"].map((each) => `GET /v4/account/${each}`);
  const ofThings = byName.filter(
    ([name, { paged, path }]) => paged === true && !path.includes(":") && expectedOf(name) !== "public",
  );
  expect(ofThings.map(([name]) => name).toSorted()).toEqual([...Object.keys(listed), ...others].toSorted());
});

test.each(lists)("%s shows exactly what its reader may view", async (name, operation) => {
  const { param, key, view } = listed[name] as NonNullable<(typeof listed)[string]>;
  // Small enough for one page.
  const small = await newFixture(world);
  const [one, other] = [await small.target([param], small.owner), await small.target([param], small.owner)];
  const states: Held[] = [{}, { grants: everyGrant }];
  if (one.entity !== undefined) states.push({ on: [one.entity, "read_only"] });
  const readers: Reader[] = [{ person: small.owner }, { person: small.colleague }, { person: small.stranger }];
  for (const held of states) readers.push({ person: await small.restricted(held), held });

  for (const reader of readers)
    for (const kind of tokenKinds) {
      const authorization = `Bearer ${await small.token(reader.person, ["*"], kind)}`;
      const { text } = await sendRequest(world, operation, `${operation.path}?page_size=500`, authorization);
      const { data = [], results = 0 } = JSON.parse(text) as { data?: Record<string, unknown>[]; results?: number };
      const shown = data.map((item) => String(item[key]));
      expect(results).toBe(shown.length);
      for (const target of [one, other]) {
        requestCount++;
        const id = target.params[param] ?? "";
        const viewing = await sendRequest(world, operation, fillPath(view, target), authorization);
        const may = sees(expectedOf(`GET ${view}`), small, reader, target);
        const byItsName = objectOf(`GET ${view}`) === "bearer" && reader.person === small.stranger;
        const found = [viewing.status === 200, shown.includes(id)];
        expect(found, `${reader.person.username}, ${kind}`).toEqual([may || byItsName, may]);
      }
    }
});

test("maintenance is shown to those who may view its compute instance", async () => {
  const small = await newFixture(world);
  const { accountId } = small.owner;
  const [one, other] = [await newCompute(world, accountId), await newCompute(world, accountId)];
  const [first, second] = [await newMaintenance(world, accountId, one), await newMaintenance(world, accountId, other)];
  const expected: [reader: Fixture["owner"], shown: string[]][] = [
    [small.owner, [first, second]],
    [small.colleague, [first, second]],
    [small.stranger, []],
    [await small.restricted(), []],
    [await small.restricted({ grants: everyGrant }), []],
    // A grant on an object of another kind with the same number.
    [await small.restricted({ on: [{ type: "database", id: one }, "read_write"] }), []],
    [await small.restricted({ on: [{ type: "compute", id: one }, "read_only"] }), [first]],
    [await small.restricted({ on: [{ type: "compute", id: other }, "read_write"] }), [second]],
  ];

  for (const [reader, shown] of expected)
    for (const kind of tokenKinds) {
      requestCount++;
      const token = await small.token(reader, ["events:read_only"], kind);
      const { body } = await world.as(token).get<{ data: { reason: string }[] }>("/v4/account/maintenance");
      expect(body.data.map(({ reason }) => reason)).toEqual(shown);
    }
});
