import { expect, test } from "vitest";
import { newWorld, PLAN, REGION } from "#testing/world.ts";

const COMPUTES = "/admin/computes";
type Shown = { id: number; label: string; plan: string | null; host: string | null; disks: { id: number }[] };

test("a compute instance is registered once by account and label, and registering it again updates it", async () => {
  await using world = await newWorld();
  const { accountId } = await world.customer();
  const host = await world.registerHost();
  const path = `/admin/accounts/${accountId}/computes`;

  const first = await world.operator.post<Shown>(path, { label: "web", region: REGION, plan: PLAN });
  const again = await world.operator.post<Shown>(path, { label: "web", region: REGION, host: host.name });

  expect(first).toMatchObject({ status: 200, body: { account: accountId, label: "web", plan: PLAN, host: null } });
  expect(again.body).toMatchObject({ id: first.body.id, plan: PLAN, host: host.name });
  const { body: other } = await world.operator.post<Shown>(path, { label: "mail", region: REGION });
  expect(await world.operator.get(`${COMPUTES}?account=${accountId}`)).toMatchObject({
    body: { results: 2, data: [{ id: first.body.id }, { id: other.id }] },
  });
  expect(await world.operator.get(COMPUTES)).toMatchObject({ body: { results: 2 } });
});

test("an invalid label, region, plan or host is refused by its field, and nothing is registered", async () => {
  await using world = await newWorld();
  const { accountId } = await world.customer();
  await world.operator.post("/admin/regions", { id: "us-east", label: "Newark", country: "us" });
  const host = await world.registerHost();
  const path = `/admin/accounts/${accountId}/computes`;
  const refusals = [
    [{ label: "a b", region: REGION }, "label"],
    [{ label: "x".repeat(65), region: REGION }, "label"],
    [{ label: "web", region: "moon" }, "region"],
    [{ label: "web", region: REGION, plan: "huge" }, "plan"],
    [{ label: "web", region: REGION, host: "nobody" }, "host"],
    [{ label: "web", region: "us-east", host: host.name }, "host"],
  ] as const;

  for (const [body, field] of refusals)
    expect(await world.operator.post(path, body)).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  expect((await world.operator.post("/admin/accounts/4/computes", { label: "web", region: REGION })).status).toBe(404);
  expect(await world.operator.get(COMPUTES)).toMatchObject({ body: { results: 0 } });
});

test("a disk is unique by label in its instance, and is removed alone or with the instance", async () => {
  await using world = await newWorld();
  const { accountId } = await world.customer();
  const { id } = await world.compute(accountId);
  const root = { label: "root", size_mb: 10_240, filesystem: "ext4", device: "/dev/vg/web-root" };
  const add = (disk: object) => world.operator.post<{ id: number }>(`${COMPUTES}/${id}/disks`, disk);
  const show = async () => (await world.operator.get<Shown>(`${COMPUTES}/${id}`)).body;

  const first = await add(root);
  const grown = await add({ ...root, size_mb: 20_480 });
  const swap = await add({ label: "swap", size_mb: 512, filesystem: "swap", device: "/dev/vg/web-swap" });
  expect(grown.body).toMatchObject({ id: first.body.id, size_mb: 20_480 });
  expect((await show()).disks).toMatchObject([{ id: first.body.id }, { id: swap.body.id }]);
  expect(await add({ ...root, filesystem: "ntfs" })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "filesystem" }] },
  });

  expect((await world.operator.post(`/admin/disks/${swap.body.id}/remove`, {})).status).toBe(200);
  expect((await world.operator.post(`/admin/disks/${swap.body.id}/remove`, {})).status).toBe(404);
  expect((await show()).disks).toMatchObject([{ id: first.body.id }]);
  await world.operator.post(`${COMPUTES}/${id}/remove`, {});
  expect((await world.db.selectFrom("disks").select("deleted_at").execute()).every((row) => row.deleted_at)).toBe(true);
});

test("removing an instance removes its grants and planned maintenance, and frees its label", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  const compute = await world.compute(owner.accountId, { label: "web" });
  await owner.put(`/v4/account/users/${clerk.username}/grants`, {
    linode: [{ id: compute.id, permissions: "read_only" }],
  });
  await world.operator.post(`${COMPUTES}/${compute.id}/maintenance`, {
    type: "reboot",
    when: "2031-01-01T00:00:00",
    reason: "new kernel",
  });

  expect((await world.operator.post(`${COMPUTES}/${compute.id}/remove`, {})).status).toBe(200);

  expect((await world.operator.get(`${COMPUTES}/${compute.id}`)).status).toBe(404);
  expect((await world.operator.post(`${COMPUTES}/${compute.id}/remove`, {})).status).toBe(404);
  expect(await world.db.selectFrom("entity_grants").selectAll().execute()).toEqual([]);
  expect(await world.operator.get("/admin/maintenance")).toMatchObject({ body: { results: 0 } });
  expect(await owner.get("/v4/account/maintenance")).toMatchObject({ body: { results: 0 } });
  expect(await owner.get("/v4/account/notifications")).toMatchObject({ body: { results: 0 } });
  const another = await world.compute(owner.accountId, { label: "web" });
  expect(another.id).not.toBe(compute.id);
});
