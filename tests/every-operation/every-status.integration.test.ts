import { operations } from "@moorage/contract";
import { startPrometheus } from "@moorage/testkit/prometheus.ts";
import { inTurn } from "@moorage/testkit/turns.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { activeDatabase } from "../../packages/control-plane/src/testing/active-database.ts";
import { newWorld, type World } from "../../packages/control-plane/src/testing/world.ts";
import { everyStatus, expectedStates, type Status } from "./expected-states.ts";
import { asCluster, type ClusterKind } from "./things.ts";

const LARGE = { id: "m1-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };

let prometheus: Awaited<ReturnType<typeof startPrometheus>>;
let world: World;
let host: Awaited<ReturnType<World["host"]>>;
beforeAll(async () => {
  prometheus = await startPrometheus(() => "");
  world = await newWorld({ prometheusUrl: prometheus.url });
  await world.operator.post("/admin/plans", LARGE);
  host = await world.host({ memory_mb: 10_000_000, disk_mb: 100_000_000 });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await prometheus[Symbol.asyncDispose]();
});

let requestCount = 0;
afterAll(() => console.log(`every-status: ${expectedStates.length} operations, ${requestCount} cells`));

test("every operation on a database has a row", () => {
  const onDatabases = operations
    .filter(({ path }) => path.startsWith("/v4/databases") && path.includes("instance"))
    .map(({ method, path }) => `${method} ${path}`);
  expect([...new Set(expectedStates.map(({ operation }) => operation))].toSorted()).toEqual(onDatabases.toSorted());
});

/** A database in a new account, created through the API and then put into the status. */
async function databaseIn(status: Status, cluster?: ClusterKind) {
  const alice = await world.customer();
  const { id } = await activeDatabase(world, alice, host);
  if (cluster !== undefined) await asCluster(world, id, cluster);
  const { account_id, timeline_id } = await world.databaseRow(id);
  const backup = await world.db
    .insertInto("backups")
    .values({
      account_id,
      database_id: id,
      type: "auto",
      label: "Scheduled-20260101-0000",
      timeline_id: timeline_id as string,
      copy_id: null,
      point_at: world.time.now,
      created_at: world.time.now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await world.db.updateTable("databases").set({ status }).where("id", "=", id).execute();
  return { alice, id, backupId: backup.id };
}

const recordOf = async (id: number) => ({
  row: await world.databaseRow(id),
  operations: (await world.openOperations()).length,
  events: (await world.events()).length,
});

type Cell = { expected: (typeof expectedStates)[number]; status: Status };

/** Sends the request as the owner, and returns what was recorded before. */
async function request({ expected: { operation, body, cluster }, status }: Cell) {
  const { alice, id, backupId } = await databaseIn(status, cluster);
  const [method = "", path = ""] = operation.split(" ");
  const named = { instanceId: id, backupId, metric: "connections" } as Record<string, string | number>;
  const { oldest_restore_time: restoreTime } = (
    await alice.get<{ oldest_restore_time: string }>(`/v4/databases/mysql/instances/${id}`)
  ).body;
  const before = await recordOf(id);
  requestCount++;
  const reply = await world.send({
    method,
    url: path.replace(/:(\w+)/g, (_, name: string) => String(named[name])),
    headers: { authorization: `Bearer ${alice.token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { payload: JSON.stringify(body({ restoreTime, id })) }),
  });
  return { id, before, status: reply.statusCode, body: reply.json<{ errors: { reason: string }[] }>() };
}

const cells = expectedStates.flatMap((expected) =>
  everyStatus.map((status) => {
    const name = [expected.operation, expected.as ?? ""].join(" ").trim();
    return [name, status, { expected, status }] as const;
  }),
);
const isAllowed = ([, status, { expected }]: (typeof cells)[number]): boolean => expected.allowed.includes(status);

test.each(inTurn(cells.filter(isAllowed), 2))(
  "%s of a database that is %s is accepted",
  async (_name, _status, cell) => {
    expect(await request(cell)).toMatchObject({ status: 200 });
  },
);

test.each(
  inTurn(
    cells.filter((cell) => !isAllowed(cell)),
    2,
  ),
)(
  "%s of a database that is %s is refused with the allowed statuses, and changes nothing",
  async (_name, _status, cell) => {
    const { id, before, status, body } = await request(cell);

    expect(status).toBe(400);
    expect(body.errors).toEqual([{ reason: expect.stringContaining(`that is ${cell.status}`) }]);
    const would = body.errors[0]?.reason.split("must be")[1];
    for (const allowed of cell.expected.allowed) expect(would).toContain(allowed);
    expect(await recordOf(id)).toEqual(before);
  },
);
