import type { Event, Image } from "@moorage/contract";
import { expect, test } from "vitest";
import { countWaiting } from "#testing/count-waiting.ts";
import {
  availableImage,
  grant,
  imageRow,
  type ImagePage,
  IMAGES,
  numberOf,
  publicImage,
  upload,
} from "#testing/image-fixture.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "../model/texts.ts";

const publish = (world: World, image: { id: string }, body: object) =>
  world.operator.post(`/admin/images/${encodeURIComponent(image.id)}/publish`, { label: "Debian", ...body });
const reasonOf = ({ status, body }: { status: number; body: unknown }) => ({
  status,
  reason: (body as { errors: { reason: string }[] }).errors[0]?.reason,
});

test("a published image leaves its account, with an event, and all grants on it end", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const rob = await world.colleague(alice.accountId, { restricted: true });
  const image = await availableImage(world, alice, { description: "Ours", capabilities: ["cloud-init"] });
  await grant(world, rob, numberOf(image), "read_write");

  expect(await publish(world, image, { name: "debian-12", vendor: "Debian" })).toMatchObject({
    status: 200,
    body: { id: "operator/debian-12", account: null, number: numberOf(image) },
  });

  expect((await alice.get(`${IMAGES}/${image.id}`)).status).toBe(404);
  expect((await world.anonymous.get<Image>(`${IMAGES}/operator/debian-12`)).body).toMatchObject({
    label: "Debian",
    vendor: "Debian",
    created_by: "operator",
    description: null,
    capabilities: ["cloud-init"],
  });
  expect(await world.db.selectFrom("entity_grants").selectAll().execute()).toEqual([]);
  const { body } = await alice.get<{ data: Event[] }>("/v4/account/events");
  expect(body.data[0]).toMatchObject({
    action: "image_update",
    status: "notification",
    username: null,
    message: expect.stringContaining("operator/debian-12"),
    entity: { id: numberOf(image), type: "image" },
  });
  expect(await imageRow(world, image)).toMatchObject({ account_id: null, deleted_at: null });
  const limits = await world.operator.get(`/admin/accounts/${alice.accountId}/image-limits`);
  expect(limits.body).toMatchObject({ used: { images: 0, total_mb: 0 } });
});

test("an automatic image that is published no longer expires", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const expiry = new Date(world.time.now.getTime() + 86_400_000);
  const image = await availableImage(world, alice, { type: "automatic", expiry, remove_at: expiry });

  await publish(world, image, { name: "kept" });

  expect(await imageRow(world, image)).toMatchObject({ type: "manual", expiry: null, remove_at: null });
});

test("only an available image is published, under a name that clients can send", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const waiting = (await upload(alice)).body.image;
  const image = await availableImage(world, alice);

  expect(reasonOf(await publish(world, waiting, { name: "debian-12" }))).toMatchObject({
    status: 400,
    reason: expect.stringContaining("is pending_upload; only an available image"),
  });
  for (const name of ["", "Debian", "a/b", "-a", ".", "a b", "a".repeat(65), "é"])
    expect(await publish(world, image, { name })).toMatchObject({ status: 400 });
  expect(reasonOf(await publish(world, { id: "private/999999999" }, { name: "x" }))).toMatchObject({
    status: 404,
    reason: expect.stringContaining("moorage admin image list"),
  });
  expect((await world.anonymous.get<ImagePage>(IMAGES)).body.results).toBe(0);
});

test("a name in use is refused, unless the old image is retired at the same time", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const [old, next] = [await availableImage(world, alice), await availableImage(world, alice)];
  await publish(world, old, { name: "debian-12" });

  expect(reasonOf(await publish(world, next, { name: "debian-12" }))).toEqual({
    status: 400,
    reason: texts.publicNameTaken({ id: numberOf(old), wireId: "operator/debian-12" }).text,
  });
  expect((await alice.get(`${IMAGES}/${next.id}`)).status).toBe(200);
  expect((await publish(world, next, { name: "debian-12", replace: true })).status).toBe(200);

  expect((await imageRow(world, old)).deleted_at).toEqual(world.time.now);
  expect((await world.anonymous.get<ImagePage>(IMAGES)).body.results).toBe(1);
});

test("of two concurrent publications of one name, one succeeds", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const images = [await availableImage(world, alice), await availableImage(world, alice)];

  // Both have reached their event, or the name, before either may continue.
  let pending: ReturnType<typeof publish>[] = [];
  await world.db.transaction().execute(async (tx) => {
    await tx.selectFrom("accounts").select("id").where("id", "=", alice.accountId).forUpdate().execute();
    pending = images.map((image) => publish(world, image, { name: "debian-12" }));
    await expect.poll(() => countWaiting(world)).toBe(2);
  });

  expect((await Promise.all(pending)).map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
  expect((await world.anonymous.get<ImagePage>(IMAGES)).body.results).toBe(1);
});

test("a public image is updated, deprecated with its end of life, made current again and retired", async () => {
  await using world = await newWorld();
  await publicImage(world, "debian-12");
  const id = { id: "operator/debian-12" };
  const path = "/admin/images/operator%2Fdebian-12";
  const seen = async () => (await world.anonymous.get<Image>(`${IMAGES}/operator/debian-12`)).body;

  await publish(world, id, { name: "debian-12", label: "Debian 12.1", description: "Newer" });
  expect(await seen()).toMatchObject({ label: "Debian 12.1", description: "Newer", deprecated: false });
  expect((await publish(world, id, { name: "debian-13" })).status).toBe(400);

  await world.operator.post(`${path}/deprecate`, { eol: "2028-06-30T00:00:00" });
  expect(await seen()).toMatchObject({ deprecated: true, eol: "2028-06-30T00:00:00", label: "Debian 12.1" });
  await world.operator.post(`${path}/deprecate`, {});
  expect(await seen()).toMatchObject({ deprecated: true, eol: "2028-06-30T00:00:00" });
  await publish(world, id, { name: "debian-12" });
  expect(await seen()).toMatchObject({ deprecated: false, eol: null });

  expect(await world.operator.post(`${path}/retire`, {})).toMatchObject({ status: 200, body: id });
  expect(await seen()).toEqual({
    errors: [{ reason: expect.stringMatching(/^Not found: there is no image operator/) }],
  });
  expect((await world.operator.post(`${path}/retire`, {})).status).toBe(404);
  // The name is free.
  expect(await publicImage(world, "debian-12")).toMatchObject({ id: "operator/debian-12" });
});

test("an account's image is neither deprecated nor retired", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const image = await availableImage(world, alice);

  for (const what of ["deprecate", "retire"])
    expect(reasonOf(await world.operator.post(`/admin/images/${numberOf(image)}/${what}`, {}))).toEqual({
      status: 400,
      reason: texts.notPublic({ id: numberOf(image), accountId: alice.accountId }).text,
    });
  expect((await alice.get(`${IMAGES}/${image.id}`)).body).toEqual(image);
});

test("the operator sees every image, or those of one account, and no tenant's token does", async () => {
  await using world = await newWorld();
  await publicImage(world, "debian-12");
  const [alice, bob] = [await world.customer(), await world.customer()];
  const [hers, his] = [await availableImage(world, alice), await availableImage(world, bob)];
  const list = async (query = "") =>
    (await world.operator.get<{ data: { id: string; account: number | null }[] }>(`/admin/images${query}`)).body.data;

  expect((await list()).map(({ id }) => id)).toEqual(["operator/debian-12", hers.id, his.id]);
  expect(await list(`?account=${alice.accountId}`)).toMatchObject([{ id: hers.id, account: alice.accountId }]);
  const reply = await world.sendToOperators({
    url: "/admin/images",
    headers: { authorization: `Bearer ${bob.token}` },
  });
  expect(reply.statusCode).toBe(401);
});
