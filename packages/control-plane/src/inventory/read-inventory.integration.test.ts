import { expect, test } from "vitest";
import { newWorld, PLAN, REGION, type World } from "#testing/world.ts";

const COMPUTES = "/v4/compute/instances";
type Page = { data: { id: number }[]; results: number };

async function addDisk(world: World, compute: number, change: object = {}): Promise<number> {
  const disk = { label: "root", size_mb: 10_240, filesystem: "ext4", device: "/srv/disks/web", ...change };
  return (await world.operator.post<{ id: number }>(`/admin/computes/${compute}/disks`, disk)).body.id;
}

test("an instance and its disks are shown as registered, without their location on the host", async () => {
  await using world = await newWorld();
  const owner = await world.customer({ scopes: ["computes:read_only"] });
  const at = world.time.now.toISOString().slice(0, 19);
  const body = { label: "web", region: REGION, plan: PLAN };
  const { id } = (await world.operator.post<{ id: number }>(`/admin/accounts/${owner.accountId}/computes`, body)).body;
  const disk = await addDisk(world, id);
  const web = { id, label: "web", region: REGION, type: PLAN, created: at, updated: at };
  const root = { id: disk, label: "root", size: 10_240, filesystem: "ext4", status: "ready", created: at, updated: at };
  const only = (item: object) => ({ data: [item], page: 1, pages: 1, results: 1 });

  expect((await owner.get(COMPUTES)).body).toEqual(only(web));
  expect((await owner.get(`${COMPUTES}/${id}`)).body).toEqual(web);
  expect((await owner.get(`${COMPUTES}/${id}/disks`)).body).toEqual(only(root));
  expect((await owner.get(`${COMPUTES}/${id}/disks/${disk}`)).body).toEqual(root);
  const alias = `/v4/linode/instances/${id}`;
  expect((await owner.get(`${alias}/disks/${disk}`)).body).toEqual(root);
  expect((await owner.get(alias)).body).toEqual(web);
});

test("removed instances, those of other accounts and disks of other instances are not found", async () => {
  await using world = await newWorld();
  const [owner, stranger] = [await world.customer(), await world.customer()];
  const [web, mail] = [await world.compute(owner.accountId), await world.compute(owner.accountId)];
  const [root, swap] = [await addDisk(world, web.id), await addDisk(world, web.id, { label: "swap" })];
  await world.operator.post(`/admin/disks/${swap}/remove`, {});
  const paths = [`${COMPUTES}/${web.id}`, `${COMPUTES}/${web.id}/disks`, `${COMPUTES}/${web.id}/disks/${root}`];

  for (const path of paths) {
    expect((await owner.get(path)).status).toBe(200);
    expect(await stranger.get(path)).toMatchObject({
      status: 404,
      body: { errors: [{ reason: expect.stringMatching(/^Not found: there is no /) }] },
    });
  }
  expect((await stranger.get<Page>(COMPUTES)).body.results).toBe(0);
  expect((await owner.get(`${COMPUTES}/${mail.id}/disks/${root}`)).status).toBe(404);
  expect((await owner.get(`${COMPUTES}/${web.id}/disks/${swap}`)).status).toBe(404);
  expect((await owner.get<Page>(`${COMPUTES}/${web.id}/disks`)).body.data).toMatchObject([{ id: root }]);

  await world.operator.post(`/admin/computes/${web.id}/remove`, {});
  for (const path of paths) expect((await owner.get(path)).status).toBe(404);
  expect((await owner.get<Page>(COMPUTES)).body.data).toMatchObject([{ id: mail.id }]);
});

test("a restricted user finds the instances they hold a grant on, and their disks", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const [web, mail] = [await world.compute(owner.accountId), await world.compute(owner.accountId)];
  const [root, other] = [await addDisk(world, web.id), await addDisk(world, mail.id)];
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  expect((await clerk.get<Page>(COMPUTES)).body.results).toBe(0);

  await owner.put(`/v4/account/users/${clerk.username}/grants`, { linode: [{ id: web.id, permissions: "read_only" }] });

  expect((await clerk.get<Page>(COMPUTES)).body).toMatchObject({ results: 1, data: [{ id: web.id }] });
  expect((await clerk.get(`${COMPUTES}/${web.id}/disks/${root}`)).status).toBe(200);
  for (const path of [`${mail.id}`, `${mail.id}/disks`, `${mail.id}/disks/${other}`, `${web.id}/disks/${other}`])
    expect((await clerk.get(`${COMPUTES}/${path}`)).status).toBe(404);
});

test("instances and disks are filtered and sorted by their identifying fields", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const web = await world.compute(owner.accountId, { label: "web" });
  const mail = await world.compute(owner.accountId, { label: "mail" });
  const [small, large] = [
    await addDisk(world, web.id, { label: "boot", size_mb: 512 }),
    await addDisk(world, web.id, { size_mb: 4096 }),
  ];
  const found = async (url: string, filter: object) => {
    const headers = { authorization: `Bearer ${owner.token}`, "x-filter": JSON.stringify(filter) };
    const reply = await world.send({ method: "GET", url, headers });
    return reply.statusCode === 200 ? reply.json<Page>().data.map(({ id }) => id) : reply.statusCode;
  };

  expect(await found(COMPUTES, { label: "web" })).toEqual([web.id]);
  expect(await found(COMPUTES, { region: REGION, id: { "+gt": web.id } })).toEqual([mail.id]);
  expect(await found(COMPUTES, { "+order_by": "label" })).toEqual([mail.id, web.id]);
  expect(await found(COMPUTES, { account_id: owner.accountId })).toBe(400);
  const disks = `${COMPUTES}/${web.id}/disks`;
  expect(await found(disks, { size: { "+gte": 4096 } })).toEqual([large]);
  expect(await found(disks, { label: { "+contains": "BOO" } })).toEqual([small]);
  expect(await found(disks, { "+order_by": "size", "+order": "desc" })).toEqual([large, small]);
  expect(await found(disks, { device: "/srv/disks/web" })).toBe(400);
});
