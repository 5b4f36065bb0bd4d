import { type MaintenanceItem, toTimestamp } from "@moorage/contract";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";

const MAINTENANCE = "/v4/account/maintenance";
type Told = { data: MaintenanceItem[]; results: number };
type Notices = { data: { type: string; entity: { id: number }; when: string; body: string }[] };

const later = ({ time }: World, seconds: number): string => toTimestamp(new Date(time.now.getTime() + seconds * 1000));

async function createFixture(world: World) {
  const owner = await world.customer();
  const [web, mail] = [await world.compute(owner.accountId), await world.compute(owner.accountId)];
  const schedule = (compute: { id: number }, change: object = {}) =>
    world.operator.post<{ id: number }>(`/admin/computes/${compute.id}/maintenance`, {
      type: "reboot",
      when: later(world, 3600),
      reason: "a new kernel",
      ...change,
    });
  const step = (id: number, verb: string) => world.operator.post(`/admin/maintenance/${id}/${verb}`, {});
  const seen = async (person = owner) => (await person.get<Told>(MAINTENANCE)).body.data;
  const notices = async (person = owner) => (await person.get<Notices>("/v4/account/notifications")).body.data;
  return { owner, web, mail, schedule, step, seen, notices };
}

test("an account sees its maintenance from planning to completion, and other accounts do not", async () => {
  await using world = await newWorld();
  const { web, schedule, step, seen, notices } = await createFixture(world);
  const when = later(world, 3600);
  const { id } = (await schedule(web)).body;

  expect(await seen()).toEqual([
    {
      entity: { id: web.id, label: web.label, type: "compute", url: `/v4/compute/instances/${web.id}` },
      reason: "a new kernel",
      status: "pending",
      type: "reboot",
      when,
    },
  ]);
  expect(await notices()).toMatchObject([
    {
      type: "reboot_scheduled",
      severity: "major",
      entity: { id: web.id, type: "compute" },
      when,
      body: "a new kernel",
    },
  ]);
  const stranger = await world.customer();
  expect([await seen(stranger), await notices(stranger)]).toEqual([[], []]);

  await step(id, "start");
  expect(await seen()).toMatchObject([{ status: "started" }]);
  expect(await notices()).toHaveLength(1);
  await step(id, "complete");
  expect(await seen()).toMatchObject([{ status: "completed" }]);
  expect(await notices()).toEqual([]);
});

test("completed maintenance is shown for seven days, canceled maintenance never", async () => {
  await using world = await newWorld();
  const { web, mail, schedule, step, seen, notices } = await createFixture(world);
  await step((await schedule(web)).body.id, "complete");
  await step((await schedule(mail, { type: "cold_migration" })).body.id, "cancel");
  const begun = world.time.now.getTime();

  expect(await seen()).toMatchObject([{ entity: { id: web.id }, status: "completed" }]);
  expect(await notices()).toEqual([]);
  world.time.now = new Date(begun + 7 * 86_400_000 - 1000);
  expect(await seen()).toHaveLength(1);
  world.time.now = new Date(begun + 7 * 86_400_000);
  expect(await seen()).toEqual([]);
});

test("repeated before it has started, a request changes time and reason; afterwards it is refused", async () => {
  await using world = await newWorld();
  const { web, schedule, step, seen } = await createFixture(world);
  const first = await schedule(web);
  const again = await schedule(web, { when: "2031-01-31T02:00:00", reason: "a newer kernel" });

  expect(again.body.id).toBe(first.body.id);
  expect(await seen()).toMatchObject([{ when: "2031-01-31T02:00:00", reason: "a newer kernel" }]);
  await step(first.body.id, "start");
  expect(await schedule(web)).toMatchObject({ status: 400 });
  expect((await schedule(web, { type: "live_migration" })).status).toBe(200);
  await step(first.body.id, "complete");
  expect((await schedule(web)).body.id).not.toBe(first.body.id);
});

test.each([
  [["start", "start"], 200],
  [["complete", "complete"], 200],
  [["start", "cancel", "cancel"], 200],
  [["start", "complete", "cancel"], 400],
  [["cancel", "start"], 400],
  [["complete", "start"], 400],
] as const)("%j ends with %i", async (verbs, expected) => {
  await using world = await newWorld();
  const { web, schedule, step } = await createFixture(world);
  const { id } = (await schedule(web)).body;

  const statuses = [];
  for (const verb of verbs) statuses.push((await step(id, verb)).status);

  expect(statuses.at(-1)).toBe(expected);
  expect(statuses.slice(0, -1).every((status) => status === 200)).toBe(true);
});

test("a restricted user sees maintenance of instances they hold a grant on, with any token", async () => {
  await using world = await newWorld();
  const { owner, web, mail, schedule, seen } = await createFixture(world);
  await schedule(web);
  await schedule(mail);
  const clerk = await world.colleague(owner.accountId, { restricted: true, scopes: ["events:read_only"] });

  expect(await seen(clerk)).toEqual([]);
  await owner.put(`/v4/account/users/${clerk.username}/grants`, {
    linode: [{ id: mail.id, permissions: "read_only" }],
  });
  expect(await seen(clerk)).toMatchObject([{ entity: { id: mail.id } }]);
  expect((await world.anonymous.get(MAINTENANCE)).status).toBe(401);
});

test("maintenance is filtered by type, status and time", async () => {
  await using world = await newWorld();
  const { owner, web, mail, schedule, step } = await createFixture(world);
  await step((await schedule(web, { when: "2031-01-01T00:00:00" })).body.id, "start");
  await schedule(mail, { type: "live_migration", when: "2031-02-01T00:00:00" });
  const found = async (filter: object) => {
    const reply = await world.send({
      method: "GET",
      url: MAINTENANCE,
      headers: { authorization: `Bearer ${owner.token}`, "x-filter": JSON.stringify(filter) },
    });
    return reply.statusCode === 200 ? reply.json<Told>().data.map(({ entity }) => entity.id) : reply.statusCode;
  };

  expect(await found({ type: "reboot" })).toEqual([web.id]);
  expect(await found({ status: { "+or": ["pending", "completed"] } })).toEqual([mail.id]);
  expect(await found({ when: { "+gte": "2031-02-01T00:00:00" } })).toEqual([mail.id]);
  expect(await found({ when: { "+or": ["2031-01-01T00:00:00", { "+gt": "2031-03-01T00:00:00" }] } })).toEqual([web.id]);
  expect(await found({ "+order_by": "when", "+order": "desc" })).toEqual([mail.id, web.id]);
  expect(await found({ status: "canceled" })).toEqual([]);
  expect(await found({ reason: "x" })).toBe(400);
});
