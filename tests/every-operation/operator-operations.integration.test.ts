/** Every operation of the operator's interface, called by everybody who is not the operator. */
import { operations, type OperatorOperation } from "@moorage/contract";
import { operatorOperations } from "@moorage/contract/operator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newWorld, OPERATOR_TOKEN, type World } from "../../packages/control-plane/src/testing/world.ts";
import { everyGrant } from "./expected-access.ts";
import { BAD_BODY } from "./outcome.ts";
import { newFixture, type Fixture, tokenKinds } from "./fixture.ts";
import { recordOf } from "./record.ts";

const byName = operatorOperations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const);
const bearer = (token: string): string => `Bearer ${token}`;

let world: World;
let fixture: Fixture;
/** By name: the value of the authorization header. */
let strangers: [who: string, authorization: string | undefined][];
beforeAll(async () => {
  world = await newWorld();
  fixture = await newFixture(world);
  strangers = [["nobody", undefined], ...wrongTokens(), ...deadTokens(), ...(await tenants())];
});
afterAll(() => world[Symbol.asyncDispose]());

let requestCount = 0;
let wrong = 0;
afterAll(() => console.log(`operator-operations: ${byName.length} operations, ${requestCount} cells, ${wrong} wrong`));

/** What resembles the operator's token: cut, longer, in another form, of another case, or of another installation. */
function wrongTokens(): [string, string][] {
  const values = [
    "",
    "Bearer",
    "Bearer ",
    OPERATOR_TOKEN,
    `Basic ${OPERATOR_TOKEN}`,
    bearer(OPERATOR_TOKEN.slice(0, -1)),
    bearer(`${OPERATOR_TOKEN}0`),
    bearer(OPERATOR_TOKEN.toUpperCase()),
    bearer(`${OPERATOR_TOKEN} ${OPERATOR_TOKEN}`),
    // The token that was replaced: there is no other way in which an operator's token ends.
    bearer(`former-${OPERATOR_TOKEN}`),
  ];
  return values.map((value) => [`the wrong token ${JSON.stringify(value)}`, value]);
}

const deadTokens = (): [string, string][] => Object.entries(fixture.dead).map(([who, token]) => [who, bearer(token)]);

/** Valid tokens of tenants with every scope: of users, and of apps that they authorized. */
async function tenants(): Promise<[string, string][]> {
  const restricted = [await fixture.restricted(), await fixture.restricted({ grants: everyGrant })];
  const people = { owner: fixture.owner, colleague: fixture.colleague, stranger: fixture.stranger };
  const named = [...Object.entries(people), ...restricted.map((person) => ["restricted", person] as const)];
  const found: [string, string][] = [];
  for (const [who, person] of named)
    for (const kind of tokenKinds) found.push([`${who}, ${kind}`, bearer(await fixture.token(person, ["*"], kind))]);
  return found;
}

/** The path with parameters that name something: the owner's account and user, and the first of everything else. */
function pathTo({ path }: OperatorOperation): string {
  const { accountId, username } = fixture.owner;
  const params: Record<string, string> = { accountId: String(accountId), username, engineId: "mysql%2F9.7.4" };
  return path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? "1");
}

async function send(operation: OperatorOperation, path: string, authorization: string | undefined, payload: string) {
  const hasBody = operation.body !== undefined;
  const reply = await world.sendToOperators({
    method: operation.method,
    url: path,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(hasBody ? { "content-type": "application/json" } : {}),
    },
    ...(hasBody ? { payload } : {}),
  });
  return { status: reply.statusCode, text: reply.payload };
}

test("each operation is of the operator, has its own id, and is no operation of tenants", () => {
  expect(operatorOperations.length).toBeGreaterThan(50);
  expect(new Set(operatorOperations.map(({ id }) => id)).size).toBe(operatorOperations.length);
  expect(
    operatorOperations.filter(({ audience, path }) => audience !== "operator" || !path.startsWith("/admin/")),
  ).toEqual([]);
  expect(
    operations.filter(({ audience = "tenant", path }) => audience !== "tenant" || !path.startsWith("/v4/")),
  ).toEqual([]);
});

test.each(byName)("%s refuses everybody except the operator, and changes nothing", async (_name, operation) => {
  const before = await recordOf(world);
  const letIn: string[] = [];
  for (const [who, authorization] of strangers) {
    requestCount++;
    const { status, text } = await send(operation, pathTo(operation), authorization, "{}");
    const isRefused = status === 401 || status === 403;
    if (!isRefused || !text.startsWith('{"errors":')) letIn.push(`${who}: ${status} ${text.slice(0, 200)}`);
  }
  wrong += letIn.length;

  expect(letIn).toEqual([]);
  expect(await recordOf(world)).toEqual(before);
});

test.each(byName)("%s is served, and lets the operator in", async (_name, operation) => {
  // What nobody has: the request is about the token only.
  const path = operation.path.replace(/:(\w+)/g, "999999999");
  const { status, text } = await send(operation, path, bearer(OPERATOR_TOKEN), BAD_BODY);
  const nowhere = await world.sendToOperators({
    method: "GET",
    url: "/admin/nowhere",
    headers: { authorization: bearer(OPERATOR_TOKEN) },
  });

  expect([200, 400, 404]).toContain(status);
  expect(text).not.toBe(nowhere.payload);
});

test.each(byName)("%s is not served to tenants at all", async (_name, operation) => {
  for (const authorization of [bearer(fixture.ownersToken), bearer(OPERATOR_TOKEN)]) {
    requestCount++;
    const reply = await world.send({ method: operation.method, url: pathTo(operation), headers: { authorization } });
    if (reply.statusCode !== 404) wrong++;
    expect(reply.statusCode).toBe(404);
  }
});
