import type { Grants } from "@moorage/contract";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";

/** An owner with a database and two compute instances, and a restricted user. */
async function newCompany(world: World) {
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  const database = (await owner.create()).body;
  const [web, mail] = [await world.compute(owner.accountId), await world.compute(owner.accountId)];
  return {
    owner,
    clerk,
    database,
    web,
    mail,
    grant: (change: object) => owner.put<Grants>(`/v4/account/users/${clerk.username}/grants`, change),
    held: async () => (await clerk.get<Grants>("/v4/profile/grants")).body,
  };
}

test("compute instances are granted in the list linode: merged, all for the owner, held for the holder", async () => {
  await using world = await newWorld();
  const { grant, held, web, mail, database } = await newCompany(world);
  await grant({ database: [{ id: database.id, permissions: "read_write" }] });

  const { status, body } = await grant({ linode: [{ id: web.id, permissions: "read_only" }] });

  expect(status).toBe(200);
  expect(body.linode).toEqual([
    { id: web.id, label: web.label, permissions: "read_only" },
    { id: mail.id, label: mail.label, permissions: null },
  ]);
  expect(await held()).toMatchObject({
    linode: [{ id: web.id, label: web.label, permissions: "read_only" }],
    database: [{ id: database.id, permissions: "read_write" }],
  });
  await grant({ linode: [{ id: web.id, permissions: null }] });
  expect(await held()).toMatchObject({ linode: [], database: [{ id: database.id }] });
});

test("the same id of a database and of an instance are different objects", async () => {
  await using world = await newWorld();
  const { grant, held, database, web } = await newCompany(world);
  await world.db
    .updateTable("computes")
    .set({ id: database.id } as never)
    .where("id", "=", web.id)
    .execute();

  await grant({ linode: [{ id: database.id, permissions: "read_write" }] });

  expect(await held()).toMatchObject({ linode: [{ id: database.id }], database: [] });
});

test("another account's instance, a removed one and a missing one are refused alike", async () => {
  await using world = await newWorld();
  const { grant, held, web, mail } = await newCompany(world);
  const theirs = await world.compute((await world.customer()).accountId);
  await world.operator.post(`/admin/computes/${mail.id}/remove`, {});

  for (const id of [theirs.id, mail.id, 4])
    expect(
      await grant({
        linode: [
          { id: web.id, permissions: "read_only" },
          { id, permissions: "read_only" },
        ],
      }),
    ).toMatchObject({
      status: 400,
      body: { errors: [{ field: "linode[1].id", reason: expect.stringContaining(String(id)) }] },
    });
  expect((await held()).linode).toEqual([]);
});

test("the operator can grant them too", async () => {
  await using world = await newWorld();
  const { owner, clerk, held, web } = await newCompany(world);
  const admin = `/admin/accounts/${owner.accountId}/users/${clerk.username}/grants`;

  const given = await world.operator.post(admin, { compute: [{ id: web.id, permissions: "read_write" }] });

  expect(given).toMatchObject({ body: { compute: [{ id: web.id, permissions: "read_write" }], database: [] } });
  expect((await held()).linode).toMatchObject([{ id: web.id, permissions: "read_write" }]);
  expect(await world.operator.post(admin, { compute: [{ id: 4, permissions: "read_only" }] })).toMatchObject({
    status: 404,
    body: { errors: [{ field: "compute" }] },
  });
});
