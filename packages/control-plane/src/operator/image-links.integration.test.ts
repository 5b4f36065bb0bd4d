import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256 } from "#platform/sha256.ts";
import { keepImage } from "#testing/kept-image.ts";
import { IMAGE_SERVER, newWorld, REGION, type World } from "#testing/world.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const raw = randomBytes(1024);
const linkOf = (id: string, body: object = {}) =>
  world.operator.post(`/admin/images/${encodeURIComponent(id)}/link`, body);

test("private and public images can be downloaded by an address with its end and a digest", async () => {
  const { accountId } = await world.customer();
  const own = await keepImage(world, raw, {}, { account: accountId });
  const open = await keepImage(world, raw, {}, { name: "debian12" });
  expect(await linkOf(`private/${own.id}`, { format: "gzip", hours: 2, region: REGION })).toMatchObject({
    status: 200,
    body: {
      format: "gzip",
      raw_bytes: 1024,
      raw_sha256: sha256(raw).toString("hex"),
      url: expect.stringMatching(
        new RegExp(
          `^${IMAGE_SERVER.url}/images/${own.id}\\?format=gzip&region=${REGION}&until=\\d+&signature=[\\w-]{43}$`,
        ),
      ),
    },
  });
  const { body } = await linkOf("operator/debian12");
  const { pathname, searchParams } = new URL(body["url"] as string);
  expect(pathname).toBe(`/images/${open.id}`);
  expect(Number(searchParams.get("until"))).toBe(world.clock().getTime() / 1000 + 3600);
});

test("the audit records who may read which image, without the address", async () => {
  const image = await keepImage(world, raw, {}, { name: "audited" });
  const { body } = await linkOf("operator/audited", { hours: 3 });
  const lines = await world.db.selectFrom("audit").selectAll().orderBy("id", "desc").limit(1).execute();
  expect(lines[0]).toMatchObject({ target: "/admin/images/operator%2Faudited/link", detail: { hours: 3 } });
  expect(JSON.stringify(lines)).not.toContain(new URL(body["url"] as string).searchParams.get("signature"));
  expect(image.id).toBeGreaterThan(0);
});

test("an image that cannot be deployed gets no address", async () => {
  const { id } = await keepImage(world, raw, {}, { name: "retired" });
  await world.db.updateTable("images").set({ deleted_at: world.clock() }).where("id", "=", id).execute();
  for (const name of ["operator/retired", "operator/none", "private/1", "private/x", "nothing"])
    expect(await linkOf(name)).toMatchObject({
      status: 404,
      body: { errors: [{ reason: expect.stringContaining(name) }] },
    });
});

test("invalid hours, format and region are refused", async () => {
  await keepImage(world, raw, {}, { name: "bounded" });
  for (const body of [{ hours: 0 }, { hours: 169 }, { hours: "2" }, { format: "qcow2" }, { region: "nowhere" }])
    expect(await linkOf("operator/bounded", body)).toMatchObject({
      status: 400,
      body: { errors: [{ field: Object.keys(body)[0] }] },
    });
  expect((await linkOf("operator/bounded", { hours: 168 })).status).toBe(200);
});

test("without an image server no address is created, and the refusal names the missing setting", async () => {
  await using without = await newWorld({ imageServer: "none" });
  expect(await without.operator.post("/admin/images/operator%2Fany/link", {})).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("MOORAGE_IMAGE_SERVER_URL") }] },
  });
});
