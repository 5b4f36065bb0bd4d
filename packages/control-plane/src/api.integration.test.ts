import { expect, test } from "vitest";
import { ENGINE, newWorld, PLAN, REGION, type World } from "#testing/world.ts";

const INSTANCES = "/v4/databases/mysql/instances";
const EVENTS = "/v4/account/events";
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const refusedAs = (why: string) => ({
  status: 401,
  body: { errors: [{ reason: expect.stringContaining(`Invalid Token: ${why}`) }] },
});

async function withToken(world: World, change: { revoked_at?: Date; expires_at?: Date }) {
  const alice = await world.customer();
  await world.db.updateTable("tokens").set(change).execute();
  return alice;
}

test.each([
  ["missing", {}, "no token was sent. Send `Authorization: Bearer <token>`."],
  ["empty", { authorization: "" }, "no token was sent. Send `Authorization: Bearer <token>`."],
  ["forgotten after the scheme", { authorization: "Bearer " }, "no token was sent after `Bearer`."],
  ["without a scheme", { authorization: "a".repeat(64) }, "the word `Bearer` is missing before the token."],
  ["of another scheme", { authorization: `Basic ${"a".repeat(64)}` }, "only the scheme Bearer is accepted."],
  ["too short", bearer("a".repeat(63)), "a token has 64 hexadecimal digits, and the text that was sent does not."],
  ["unknown", bearer("a".repeat(64)), "this token is unknown."],
])("a request whose token is %s is 401 with the reason", async (_name, headers, why) => {
  await using world = await newWorld();

  const reply = await world.send({ method: "GET", url: INSTANCES, headers });

  expect([reply.statusCode, reply.json()]).toEqual([401, { errors: [{ reason: expect.any(String) }] }]);
  expect(reply.json<{ errors: { reason: string }[] }>().errors[0]?.reason.startsWith(`Invalid Token: ${why}`)).toBe(
    true,
  );
  expect(reply.headers["www-authenticate"]).toBe("Bearer");
});

test("revoked and expired tokens are 401, exact to the second, each with its reason", async () => {
  await using world = await newWorld();
  const expiring = await withToken(world, { expires_at: new Date(world.time.now.getTime() + 1000) });
  expect(await expiring.get(INSTANCES)).toMatchObject({ status: 200 });

  world.time.now = new Date(world.time.now.getTime() + 1000);
  expect(await expiring.get(INSTANCES)).toMatchObject(refusedAs("this token expired at"));

  const revoked = await withToken(world, { revoked_at: world.time.now });
  expect(await revoked.get(INSTANCES)).toMatchObject(refusedAs("this token was revoked at"));
});

test("a token sent to a public operation is checked too", async () => {
  await using world = await newWorld();

  expect(await world.anonymous.get("/v4/databases/engines")).toMatchObject({ status: 200 });
  expect(await world.as("a".repeat(64)).get("/v4/databases/engines")).toMatchObject({ status: 401 });
});

test("a token without the scope is 401, and the answer names the scope", async () => {
  await using world = await newWorld();
  const reader = await world.customer({ scopes: ["databases:read_only"] });

  expect(await reader.get(INSTANCES)).toMatchObject({ status: 200 });
  const refused = [await reader.create(), await reader.delete(`${INSTANCES}/1`), await reader.get(EVENTS)];

  expect(refused.map(({ status }) => status)).toEqual([401, 401, 401]);
  expect(JSON.stringify(refused[0]?.body)).toContain("databases:read_write");
  expect(JSON.stringify(refused[2]?.body)).toContain("events:read_only");
});

test("a restricted user sees no databases and no events, by list or by id, and can delete none", async () => {
  await using world = await newWorld();
  const rob = await world.customer({ restricted: true });

  for (const list of [INSTANCES, EVENTS]) {
    expect(await rob.get(list)).toMatchObject({ status: 200, body: { data: [], results: 0 } });
    expect(await rob.get(`${list}/1025`)).toMatchObject({ status: 404 });
  }
  expect(await rob.get(`${INSTANCES}/1025/credentials`)).toMatchObject({ status: 404 });
  expect(await rob.delete(`${INSTANCES}/1025`)).toMatchObject({ status: 403 });
});

test("another account's object and a missing one get identical answers", async () => {
  await using world = await newWorld();
  const [alice, mallory] = [await world.customer(), await world.customer()];
  const { id } = (await alice.create()).body;
  await world.db.updateTable("databases").set({ status: "active" }).execute();
  const [event] = await world.events();
  const before = await world.audit();

  for (const [method, path] of [
    ["GET", (n: number | string) => `${INSTANCES}/${n}`],
    ["GET", (n: number | string) => `${INSTANCES}/${n}/credentials`],
    ["DELETE", (n: number | string) => `${INSTANCES}/${n}`],
  ] as const) {
    const bytes = async (n: number | string) => {
      const reply = await world.send({ method, url: path(n), headers: bearer(mallory.token) });
      return [reply.statusCode, reply.body.replaceAll(`database ${n}`, "database N"), reply.headers["content-type"]];
    };
    const absent = await bytes(id + 1024);
    expect(absent).toEqual([
      404,
      `{"errors":[{"reason":"Not found: there is no database N. GET ${INSTANCES} lists what there is."}]}`,
      "application/json",
    ]);
    for (const other of [id, "0"]) expect(await bytes(other)).toEqual(absent);
    for (const other of ["-1", "abc", "1.5"])
      expect(await bytes(other)).toMatchObject([404, expect.stringContaining("The id of a database is a number."), {}]);
  }
  expect(await mallory.get(`${EVENTS}/${event?.id}`)).toMatchObject({ status: 404 });
  expect(await world.audit()).toEqual(before);
});

test("every answer is exactly application/json, errors too", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const replies = [
    await alice.get(INSTANCES),
    await alice.get("/v4/nowhere"),
    await alice.create({ label: 7 }),
    await world.anonymous.get(INSTANCES),
  ];

  expect(replies.map(({ status }) => status)).toEqual([200, 404, 400, 401]);
  expect(replies.map(({ headers }) => headers["content-type"])).toEqual(Array(4).fill("application/json"));
});

test.each(["application/json", "application/json; charset=utf-8", "APPLICATION/JSON"])(
  "a body is read with content type %s",
  async (type) => {
    await using world = await newWorld();
    const alice = await world.customer();

    const reply = await world.send({
      method: "POST",
      url: INSTANCES,
      headers: { ...bearer(alice.token), "content-type": type },
      payload: JSON.stringify({ label: "shop", region: REGION, type: PLAN, engine: ENGINE }),
    });

    expect(reply.statusCode).toBe(200);
  },
);

test("a body that is not JSON is refused with an explanation", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const post = (type: string, payload: string) =>
    world.send({ method: "POST", url: INSTANCES, headers: { ...bearer(alice.token), "content-type": type }, payload });

  expect((await post("text/plain", "{}")).body).toContain("Send it as application/json");
  expect((await post("application/json", "{label")).body).toContain("not valid JSON. Check line 1, column 2.");
  expect((await post("application/json", '{\n  "label": "shop",\n}')).body).toContain("line 3, column 1");
  expect((await post("application/json", '{"__proto__": {}}')).body).toContain("must not contain the name");
  expect((await post("application/json", "[1]")).body).toContain("must be a JSON object");
});

test.each([undefined, "application/json", "text/plain", "application/x-www-form-urlencoded"])(
  "an empty body counts as none, whatever its content type: %s",
  async (type) => {
    await using world = await newWorld();
    const alice = await world.customer();
    const { id } = (await alice.create()).body;
    await world.db.updateTable("databases").set({ status: "active" }).execute();

    const reply = await world.send({
      method: "DELETE",
      url: `${INSTANCES}/${id}`,
      headers: { ...bearer(alice.token), ...(type === undefined ? {} : { "content-type": type }) },
      payload: "",
    });

    expect([reply.statusCode, reply.body]).toEqual([200, "{}"]);
  },
);

test("doubled slashes, a trailing slash and /v4beta are normalized, but not inside a query", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  for (const url of [
    "//v4//databases/mysql///instances",
    "/v4beta/databases/mysql/instances",
    "//v4beta//databases//mysql/instances?page=1",
    "/v4/databases/mysql/instances?next=//x//v4beta",
    "/v4/databases/mysql/instances/",
    "/v4beta/databases/mysql/instances///?page=1",
    "/v4/linode/types/",
    "/v4/databases/engines/mysql/9/",
  ])
    expect([url, (await alice.get(url)).status]).toEqual([url, 200]);
  const { id } = (await alice.create()).body;
  expect((await alice.get(`/v4/databases/mysql/instances/${id}/`)).status).toBe(200);
  expect(
    (await alice.post("/v4/account/oauth-clients/", { label: "App", redirect_uri: "https://a.test/" })).status,
  ).toBe(200);
  expect((await alice.get("/v4/nowhere/")).status).toBe(404);
  expect((await alice.get("/v4betas/databases/mysql/instances")).status).toBe(404);
});

test("page and page_size have bounds, and a page beyond the end is empty", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await alice.create();

  for (const query of ["page=0", "page_size=24", "page_size=501", "page=x"])
    expect([query, (await alice.get(`${INSTANCES}?${query}`)).status]).toEqual([query, 400]);
  for (const list of [INSTANCES, EVENTS])
    expect(await alice.get(`${list}?page=18014398509481&page_size=500`)).toMatchObject({
      status: 200,
      body: { data: [], page: 18014398509481, pages: 1, results: 1 },
    });
});

test("the operator API requires its token, however a path is written", async () => {
  await using world = await newWorld();

  for (const url of ["/admin/hosts", "//admin//hosts", "/%61dmin/hosts", "/nowhere"])
    for (const headers of [{}, bearer("a".repeat(64)), { authorization: "operator" }]) {
      const reply = await world.sendToOperators({ method: "GET", url, headers });
      expect([url, reply.statusCode]).toEqual([url, 401]);
    }
  expect((await world.sendToOperators({ method: "GET", url: "/health" })).statusCode).toBe(200);
  expect((await world.operator.get("/admin/hosts")).status).toBe(200);
});

test("every operator command is in the audit log, without any token that it issued", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const host = await world.registerHost();

  const lines = await world.db.selectFrom("audit").selectAll().where("actor", "=", "operator").execute();

  expect(new Set(lines.map(({ action }) => action))).toEqual(
    new Set([
      "POST /admin/regions",
      "POST /admin/plans",
      "POST /admin/engines",
      "POST /admin/accounts",
      "POST /admin/accounts/:accountId/users",
      "POST /admin/accounts/:accountId/users/:username/tokens",
      "POST /admin/hosts",
    ]),
  );
  expect(JSON.stringify(lines)).not.toContain(alice.token);
  expect(JSON.stringify(lines)).not.toContain(host.enrol_token);
});

test.each([
  "/v4/regions/%00",
  "/v4/databases/engines/mysql/%00",
  "/v4/databases/engines/mysql%2F%00",
  "/v4/databases/types/%00",
])("%s is not found, like any invalid id", async (path) => {
  await using world = await newWorld();
  expect(await world.anonymous.get(path)).toMatchObject({
    status: 404,
    body: { errors: [{ reason: expect.stringMatching(/^Not found: there is no such (region|engine|type)\./) }] },
  });
});
