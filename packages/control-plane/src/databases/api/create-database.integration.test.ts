import { createMysqlDatabase, Timestamp } from "@moorage/contract";
import { sql } from "kysely";
import pg from "pg";
import { expect, test, vi } from "vitest";
import { ENGINE, newWorld, PLAN, REGION, type World } from "#testing/world.ts";

const INSTANCES = "/v4/databases/mysql/instances";

/** Everything that any create could leave behind. */
async function traces(world: World) {
  const { rows } = await sql`select (select count(*) from databases) as databases,
    (select count(*) from operations) as operations, (select count(*) from events) as events,
    (select count(*) from audit where account_id is not null) as audit,
    (select sum(databases + nodes + memory_mb + disk_mb + event_seq) from accounts) as counted`.execute(world.db);
  return rows[0];
}
const nothing = { databases: 0, operations: 0, events: 0, audit: 0, counted: 0 };

test("a create commits its row, operation, audit entry, event and usage together, and wakes the relay", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const { status, body } = await alice.create({ label: "shop", allow_list: ["203.0.113.7", "2001:db8::/32"] });

  expect(status).toBe(200);
  expect(createMysqlDatabase.reply.parse(body)).toMatchObject({ label: "shop", status: "provisioning", port: null });
  const operation = await world.lastOperation();
  expect(operation).toMatchObject({ kind: "provisionDatabase", entity_id: body.id, account_id: alice.accountId });
  expect(operation.deadline_at.getTime() - world.time.now.getTime()).toBe(900_000);
  expect(await world.events()).toMatchObject([
    { id: operation.event_id, status: "started", operation_id: operation.id, entity_id: String(body.id), seq: 1 },
  ]);
  expect(await world.audit()).toEqual([
    { action: "create_database", target: `database/${body.id}`, account_id: alice.accountId },
  ]);
  expect(await world.account(alice.accountId)).toMatchObject({
    databases: 1,
    nodes: 1,
    memory_mb: 1024,
    disk_mb: 10_240,
  });
  expect(world.nudges.relay).toBe(1);
});

test("absent fields have the interface's defaults, and the engine shows the smallest disk on offer", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const { body } = await alice.create();

  const defaults = {
    cluster_size: 1,
    replication_type: "none",
    encrypted: false,
    allow_list: [],
    ssl_connection: true,
  };
  expect(body).toMatchObject({ ...defaults, total_disk_size_gb: 10, used_disk_size_gb: 0 });
  expect((await alice.get(`/v4/databases/engines/${ENGINE}`)).body).toMatchObject({
    id: ENGINE,
    engine: "mysql",
    version: "9.7.4",
    total_disk_size_gb: 10,
    used_disk_size_gb: 1,
  });
});

test("a create is three round trips to the database: its ids, all that it writes, the commit", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  // The first one also reads the token and the offers, which are then cached.
  await alice.create();
  const sent = vi.spyOn(pg.Client.prototype, "query");

  expect(await alice.create()).toMatchObject({ status: 200 });

  const texts = sent.mock.calls.map(([query]) =>
    typeof query === "string" ? query : (query as { text: string }).text,
  );
  sent.mockRestore();
  expect(texts.filter((text) => !text.includes('from "tokens"'))).toEqual([
    expect.stringMatching(/^begin; select next_id/),
    expect.stringContaining("insert into operations"),
    "commit",
  ]);
});

test("a created database can be viewed and listed by its owner only", async () => {
  await using world = await newWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];

  const { body } = await alice.create();

  expect((await alice.get(`${INSTANCES}/${body.id}`)).body).toEqual(body);
  expect((await alice.get(INSTANCES)).body).toEqual({ data: [body], page: 1, pages: 1, results: 1 });
  expect((await bob.get(INSTANCES)).body).toEqual({ data: [], page: 1, pages: 1, results: 0 });
});

test("every wrong field is refused at once, with the valid values, and nothing is left behind", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const reply = await alice.post(INSTANCES, {
    label: "x",
    type: 7,
    engine: ENGINE,
    cluster_size: 2,
    encrypted: "yes",
    allow_list: ["203.0.113.7", "everyone"],
  });

  expect(reply).toMatchObject({ status: 400 });
  expect(reply.body["errors"]).toEqual([
    { field: "label", reason: "label must be a valid value: 3 to 32 characters" },
    { field: "region", reason: "region is required" },
    { field: "type", reason: "type must be a valid value: the id of a database type" },
    { field: "cluster_size", reason: "cluster_size must be a valid value: 1 or 3" },
    { field: "encrypted", reason: "encrypted must be a valid value: true or false" },
    {
      field: "allow_list[1]",
      reason: 'allow_list[1] must be a valid value: an IPv4 or IPv6 address, or a CIDR range, not "everyone"',
    },
  ]);
  expect(await traces(world)).toEqual(nothing);
});

test("malformed and unavailable values are refused at once", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const reply = await alice.post(INSTANCES, {
    label: "x",
    cluster_size: 2,
    allow_list: ["10.0.0.0/33"],
    lable: "y",
    region: "moon",
    type: "huge",
    engine: "mysql/5",
    private_network: { vpc_id: 1 },
  });

  expect(reply.body["errors"]).toEqual([
    { field: "label", reason: "label must be a valid value: 3 to 32 characters" },
    { field: "cluster_size", reason: "cluster_size must be a valid value: 1 or 3" },
    {
      field: "allow_list[0]",
      reason:
        'allow_list[0] must be a valid value: an IPv4 or IPv6 address, or a CIDR range, not "10.0.0.0/33": its prefix is at most 32',
    },
    { field: "private_network", reason: "private_network is not offered. Omit it." },
    { field: "region", reason: `region must be a valid value: ${REGION}` },
    { field: "type", reason: `type must be a valid value: ${PLAN}` },
    { field: "engine", reason: `engine must be a valid value: mysql/9, ${ENGINE}` },
  ]);
  expect(await traces(world)).toEqual(nothing);
});

test("an unknown region, type and engine are refused with the known ones, and nothing is left behind", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const reply = await alice.create({ region: "moon", type: "huge", engine: "mysql/5" });

  expect(reply).toMatchObject({ status: 400 });
  expect(reply.body).toEqual({
    errors: [
      { field: "region", reason: `region must be a valid value: ${REGION}` },
      { field: "type", reason: `type must be a valid value: ${PLAN}` },
      { field: "engine", reason: `engine must be a valid value: mysql/9, ${ENGINE}` },
    ],
  });
  expect(await traces(world)).toEqual(nothing);
});

test("a label is unique in its account, and free for another one", async () => {
  await using world = await newWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];
  await alice.create({ label: "shop" });
  const before = await traces(world);

  const again = await alice.create({ label: "shop" });

  expect(again).toMatchObject({ status: 400, body: { errors: [{ field: "label" }] } });
  expect(await traces(world)).toEqual(before);
  expect(await bob.create({ label: "shop" })).toMatchObject({ status: 200 });
});

test("of two concurrent creates with one label, one succeeds", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const replies = await Promise.all(Array.from({ length: 5 }, () => alice.create({ label: "shop" })));

  expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400, 400, 400, 400]);
});

test("40 concurrent creates with one key, more than the connections, make one database and one answer", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const payload = { label: "once", region: REGION, type: PLAN, engine: ENGINE };
  const headers = {
    authorization: `Bearer ${alice.token}`,
    "idempotency-key": "k",
    "content-type": "application/json",
  };

  const replies = await Promise.all(
    Array.from({ length: 40 }, () => world.send({ method: "POST", url: INSTANCES, headers, payload })),
  );

  expect(new Set(replies.map(({ statusCode, body }) => `${statusCode} ${body}`)).size).toBe(1);
  expect(replies[0]).toMatchObject({ statusCode: 200 });
  expect(await traces(world)).toMatchObject({ databases: 1, operations: 1, events: 1 });
});

test("8 concurrent creates with a limit of 3 make exactly 3, and the refusals have the numbers", async () => {
  await using world = await newWorld();
  const alice = await world.customer({ limits: { databases: 3 } });

  const replies = await Promise.all(Array.from({ length: 8 }, () => alice.create()));

  expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 200, 400, 400, 400, 400, 400]);
  const refused = replies.filter(({ status }) => status === 400).map(({ body }) => body);
  for (const body of refused)
    expect(body).toEqual({
      errors: [{ reason: expect.stringMatching(/at most 3 databases, and with this request it would have 4\./) }],
    });
  expect(await traces(world)).toMatchObject({ databases: 3, operations: 3, events: 3, audit: 3 });
});

test("every exceeded limit is named", async () => {
  await using world = await newWorld();
  const alice = await world.customer({ limits: { memory_mb: 1023, disk_mb: 10_239 } });

  const { status, body } = await alice.create();

  expect(status).toBe(400);
  expect(body).toMatchObject({
    errors: [
      { reason: expect.stringContaining("1023 MB of memory, and with this request it would have 1024") },
      { reason: expect.stringContaining("10239 MB of disk, and with this request it would have 10240") },
    ],
  });
  expect(await traces(world)).toEqual(nothing);
});

test("a restricted user without a grant may not create", async () => {
  await using world = await newWorld();
  const rob = await world.customer({ restricted: true });

  expect(await rob.create()).toMatchObject({ status: 403 });
  expect(await traces(world)).toEqual(nothing);
});

test("no clear-text password is in any column of any table", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { body } = await alice.create();
  await world.db.updateTable("databases").set({ status: "active" }).execute();

  const credentials = await alice.get<{ password: string }>(`${INSTANCES}/${body.id}/credentials`);

  const { password } = credentials.body;
  expect(password).toMatch(/^[\w-]{32}$/);
  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public'`.execute(world.db);
  let dump = "";
  for (const { name } of tables) {
    const { rows } = await sql<{ text: string }>`select t::text as text from ${sql.table(name)} t`.execute(world.db);
    dump += rows.map(({ text }) => text).join("\n");
  }
  expect(dump).toContain(body.label);
  expect(dump).not.toContain(password);
  expect(dump).not.toContain(Buffer.from(password).toString("hex"));
  expect(dump).not.toContain(alice.token);
});

test("a sealed password copied to another row cannot be opened there", async () => {
  await using world = await newWorld();
  const [alice, mallory] = [await world.customer(), await world.customer()];
  const [hers, his] = [(await alice.create()).body.id, (await mallory.create()).body.id];
  const { admin_password } = await world.databaseRow(hers);
  await world.db.updateTable("databases").set({ status: "active" }).execute();
  await world.db.updateTable("databases").set({ admin_password }).where("id", "=", his).execute();

  const reply = await mallory.get(`${INSTANCES}/${his}/credentials`);

  expect(reply.status).toBe(500);
  expect(JSON.stringify(reply.body)).not.toMatch(/cipher|key|seal/i);
});

test("reading credentials is audited, and refused while there are none yet", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id } = (await alice.create()).body;

  expect(await alice.get(`${INSTANCES}/${id}/credentials`)).toMatchObject({ status: 400 });
  await world.db.updateTable("databases").set({ status: "active" }).execute();
  expect(await alice.get(`${INSTANCES}/${id}/credentials`)).toMatchObject({ status: 200 });

  const lines = await world.audit();
  expect(lines.map(({ action }) => action)).toEqual(["create_database", "read_credentials"]);
});

test("dates have the one layout that all clients parse", async () => {
  await using world = await newWorld();
  const { body } = await (await world.customer()).create();

  expect(Timestamp.parse(body.created)).toBe(world.time.now.toISOString().slice(0, 19));
});
