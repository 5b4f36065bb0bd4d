import { type EntityTransfer, toTimestamp } from "@moorage/contract";
import { expect, test } from "vitest";
import { availableImage, IMAGES } from "#testing/image-fixture.ts";
import { type Person, TRANSFERS, transferFixture as fixture } from "#testing/transfer-fixture.ts";
import { newWorld } from "#testing/world.ts";

const FORMER = "/v4/account/entity-transfers";
const DAY_MS = 86_400_000;
type Page = { data: EntityTransfer[]; results: number };

test("a transfer is offered, accepted and carried out, with an event for each step", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, mail, offer, view, accept, move, compute, eventsOf } = await fixture(world);
  const now = toTimestamp(world.time.now);

  const transfer = await offer(mail, web);
  expect(transfer).toEqual({
    created: now,
    updated: now,
    expiry: toTimestamp(new Date(world.time.now.getTime() + DAY_MS)),
    entities: { computes: [web.id, mail.id] },
    is_sender: true,
    status: "pending",
    token: transfer.token,
  });
  expect((await receiver.get(`${FORMER}/${transfer.token.toUpperCase()}`)).body).toEqual({
    ...transfer,
    is_sender: false,
  });

  expect(await accept(receiver, transfer)).toMatchObject({ status: 200, body: {} });
  expect([await view(sender, transfer), await view(receiver, transfer)]).toEqual(["accepted", "accepted"]);
  expect([(await compute(web)).account_id, await world.openOperations(), world.nudges.relay]).toEqual([
    sender.accountId,
    ["moveEntities"],
    1,
  ]);
  expect([await eventsOf(sender), await eventsOf(receiver)]).toEqual([
    ["create notification", "accept started"],
    ["accept started"],
  ]);

  await move();
  expect([await view(sender, transfer), await view(receiver, transfer)]).toEqual(["completed", "completed"]);
  for (const each of [web, mail]) expect(await compute(each)).toMatchObject({ account_id: receiver.accountId });
  expect([await eventsOf(sender), await eventsOf(receiver)]).toEqual([
    ["create notification", "accept finished"],
    ["accept finished"],
  ]);
  const [event] = (await world.events()).filter(({ account_id }) => account_id === receiver.accountId);
  expect(event).toMatchObject({
    entity_type: "entity_transfer",
    entity_id: transfer.token,
    entity_url: `${FORMER}/${transfer.token}`,
    username: receiver.username,
  });
  expect((await world.audit()).map(({ action }) => action)).toEqual(
    expect.arrayContaining(["create_transfer", "accept_transfer", "moveEntities.done"]),
  );
  await move();
  expect(await eventsOf(receiver)).toEqual(["accept finished"]);
});

test("disks, maintenance and notifications move too, and the sender's grants end", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, mail, offer, accept, move } = await fixture(world);
  const clerk = await world.colleague(sender.accountId, { restricted: true });
  const permissions = "read_write";
  await sender.put(`/v4/account/users/${clerk.username}/grants`, {
    linode: [
      { id: web.id, permissions },
      { id: mail.id, permissions },
    ],
  });
  await world.operator.post(`/admin/computes/${web.id}/disks`, {
    label: "root",
    size_mb: 1024,
    filesystem: "ext4",
    device: "/dev/vg/root",
  });
  await world.operator.post(`/admin/computes/${web.id}/maintenance`, {
    type: "reboot",
    when: "2031-01-01T00:00:00",
    reason: "a new kernel",
  });
  await accept(receiver, await offer(web));
  await move();

  const lists = ["/v4/account/maintenance", "/v4/account/notifications"];
  for (const list of lists) {
    expect(await sender.get(list)).toMatchObject({ body: { results: 0 } });
    expect(await receiver.get(list)).toMatchObject({ body: { results: 1, data: [{ entity: { id: web.id } }] } });
    expect((await clerk.get("/v4/account/maintenance")).body).toMatchObject({ results: 0 });
  }
  expect(await clerk.get("/v4/profile/grants")).toMatchObject({ body: { linode: [{ id: mail.id }] } });
  const grants = await world.db.selectFrom("entity_grants").select("entity_id").execute();
  expect(grants).toEqual([{ entity_id: mail.id }]);
  const disks = await world.db.selectFrom("disks").select(["account_id", "compute_id"]).execute();
  expect(disks).toEqual([{ account_id: receiver.accountId, compute_id: web.id }]);
});

test("a transfer is pending until a second before 24 hours, then stale, before and after the job", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, offer, view, accept, cancel, eventsOf } = await fixture(world);
  const transfer = await offer(web);
  const begun = world.time.now.getTime();
  const list = async (status: string) => {
    const headers = { authorization: `Bearer ${sender.token}`, "x-filter": JSON.stringify({ status }) };
    return (await world.send({ method: "GET", url: TRANSFERS, headers })).json<Page>().data.length;
  };

  world.time.now = new Date(begun + DAY_MS - 1000);
  await world.run("staleTransfers");
  expect([await view(sender, transfer), await view(receiver, transfer)]).toEqual(["pending", "pending"]);
  expect([await list("pending"), await list("stale")]).toEqual([1, 0]);

  world.time.now = new Date(begun + DAY_MS);
  const before = (await sender.get(`${TRANSFERS}/${transfer.token}`)).body;
  expect(before).toMatchObject({ status: "stale", updated: transfer.expiry });
  expect([await view(receiver, transfer), await list("pending"), await list("stale")]).toEqual([404, 0, 1]);
  expect((await accept(receiver, transfer)).status).toBe(404);
  expect(await cancel(sender, transfer)).toMatchObject({ status: 400 });
  expect(await eventsOf(sender)).toEqual(["create notification"]);

  await world.run("staleTransfers");
  await world.run("staleTransfers");
  expect((await sender.get(`${TRANSFERS}/${transfer.token}`)).body).toEqual(before);
  expect(await eventsOf(sender)).toEqual(["create notification", "stale notification"]);
  expect([await view(receiver, transfer), (await accept(receiver, transfer)).status]).toEqual([404, 404]);
});

test("a second before it expires a transfer is accepted, and an accepted one does not become stale", async () => {
  await using world = await newWorld();
  const { receiver, web, offer, view, accept, move } = await fixture(world);
  const transfer = await offer(web);
  world.time.now = new Date(world.time.now.getTime() + DAY_MS - 1000);

  expect((await accept(receiver, transfer)).status).toBe(200);
  world.time.now = new Date(world.time.now.getTime() + 60_000);
  await world.run("staleTransfers");
  expect(await view(receiver, transfer)).toBe("accepted");
  await move();
  expect(await view(receiver, transfer)).toBe("completed");
});

test("only the sender can cancel a transfer, and then it is over", async () => {
  await using world = await newWorld();
  const { sender, receiver, stranger, web, offer, view, accept, cancel, eventsOf } = await fixture(world);
  const transfer = await offer(web);
  const missing = { token: "00000000-0000-4000-8000-000000000000" };

  expect(await cancel(stranger, transfer)).toEqual({
    ...(await cancel(stranger, missing)),
    headers: expect.anything(),
  });
  expect(await cancel(sender, transfer)).toMatchObject({ status: 200, body: {} });
  expect([await view(sender, transfer), await view(receiver, transfer)]).toEqual(["canceled", 404]);
  expect(await cancel(sender, transfer)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("canceled") }] },
  });
  expect((await accept(receiver, transfer)).status).toBe(404);
  expect(await eventsOf(sender)).toEqual(["create notification", "cancel notification"]);
  expect((await offer(web)).status).toBe("pending");
});

test("the sender cannot accept; a second acceptance is refused; other accounts no longer see it", async () => {
  await using world = await newWorld();
  const { sender, receiver, stranger, web, offer, accept } = await fixture(world);
  const transfer = await offer(web);
  const refused = async (person: Person) => {
    const { status, body } = await accept(person, transfer);
    return [status, (body as { errors: { reason: string }[] }).errors[0]?.reason];
  };

  expect(await refused(sender)).toEqual([400, expect.stringContaining("another account")]);
  await accept(receiver, transfer);
  expect(await refused(receiver)).toEqual([400, expect.stringContaining("accepted")]);
  expect(await refused(sender)).toEqual([400, expect.stringContaining("another account")]);
  expect(await refused(stranger)).toEqual([404, expect.stringMatching(/^Not found: there is no such transfer\./)]);
});

test("only the account's own instances outside of other transfers can be offered, each fault named", async () => {
  await using world = await newWorld();
  const { sender, stranger, web, mail, offer, cancel } = await fixture(world);
  const theirs = await world.compute(stranger.accountId);
  const gone = await world.compute(sender.accountId);
  await world.operator.post(`/admin/computes/${gone.id}/remove`, {});
  const first = await offer(web);
  const fields = async (entities: object) => {
    const { body } = await sender.post<{ errors?: { field: string }[] }>(TRANSFERS, { entities });
    return body.errors?.map(({ field }) => field);
  };

  expect(await fields({ computes: [mail.id, theirs.id, gone.id, 4, web.id] })).toEqual([
    "entities.computes[1]",
    "entities.computes[2]",
    "entities.computes[3]",
    "entities.computes[4]",
  ]);
  expect(await fields({ linodes: [theirs.id] })).toEqual(["entities.linodes[0]"]);
  expect(await fields({ linodes: [mail.id] })).toBeUndefined();
  await cancel(sender, first);
  expect(await fields({ computes: [web.id] })).toBeUndefined();
});

test.each([
  [{}, "entities"],
  [{ entities: {} }, "entities"],
  [{ entities: { computes: [] } }, "entities.computes"],
  [{ entities: { computes: Array.from({ length: 101 }, (_, n) => n + 1) } }, "entities.computes"],
  [{ entities: { computes: [1, 1] } }, "entities.computes"],
  [{ entities: { computes: [1], linodes: [1] } }, "entities"],
  [{ entities: { computes: ["x"] } }, "entities.computes[0]"],
])("%j is refused at %s", async (body, field) => {
  await using world = await newWorld();
  const sender = await world.customer();

  expect(await sender.post(TRANSFERS, body)).toMatchObject({ status: 400, body: { errors: [{ field }] } });
});

test("an expired offer allows the next one, and gets its stale event", async () => {
  await using world = await newWorld();
  const { sender, web, offer, view, eventsOf } = await fixture(world);
  const first = await offer(web);
  world.time.now = new Date(world.time.now.getTime() + DAY_MS);

  const second = await offer(web);

  expect([await view(sender, first), await view(sender, second)]).toEqual(["stale", "pending"]);
  expect(await eventsOf(sender)).toEqual(["create notification", "stale notification", "create notification"]);
  await world.run("staleTransfers");
  expect(await eventsOf(sender)).toHaveLength(3);
});

test("100 instances are moved at once", async () => {
  await using world = await newWorld();
  const { sender, receiver, accept, move } = await fixture(world);
  const rows = Array.from({ length: 100 }, (_, n) => ({
    account_id: sender.accountId,
    label: `fleet-${n}`,
    region: "eu-central",
    plan: null,
    host_id: null,
    created_at: world.time.now,
    updated_at: world.time.now,
    deleted_at: null,
  }));
  const computes = (await world.db.insertInto("computes").values(rows).returning("id").execute()).map(({ id }) => id);
  const { status, body } = await sender.post<EntityTransfer>(TRANSFERS, { entities: { computes } });
  expect([status, body.entities.computes.length]).toEqual([200, 100]);

  await accept(receiver, body);
  await move();

  const moved = await world.db
    .selectFrom("computes")
    .where("account_id", "=", receiver.accountId)
    .selectAll()
    .execute();
  expect(moved).toHaveLength(100);
});

test("a label that the receiver already has gets a number, and the receiver is notified", async () => {
  await using world = await newWorld();
  const { sender, receiver, offer, accept, move } = await fixture(world);
  await world.compute(receiver.accountId, { label: "www" });
  const www = await world.compute(sender.accountId, { label: "www" });

  await accept(receiver, await offer(www));
  await move();

  expect(await world.operator.get(`/admin/computes/${www.id}`)).toMatchObject({ body: { label: "www-2" } });
  const messages = (await world.events()).flatMap(({ account_id, message }) =>
    message ? [[account_id, message]] : [],
  );
  expect(messages).toEqual([[receiver.accountId, expect.stringContaining("www is now www-2")]]);
});

test("sent and received transfers are listed, and distinguished by is_sender", async () => {
  await using world = await newWorld();
  const { sender, receiver, stranger, web, mail, offer, accept } = await fixture(world);
  const [sent, kept] = [await offer(web), await offer(mail)];
  await accept(receiver, sent);
  const back = await world.compute(receiver.accountId);
  const { body: own } = await receiver.post<EntityTransfer>(TRANSFERS, { entities: { computes: [back.id] } });
  const list = async (person: Person, filter: object = {}, path = TRANSFERS) => {
    const headers = { authorization: `Bearer ${person.token}`, "x-filter": JSON.stringify(filter) };
    return (await world.send({ method: "GET", url: path, headers })).json<Page>().data.map(({ token }) => token);
  };

  expect(await list(sender)).toEqual([sent.token, kept.token]);
  expect(await list(receiver)).toEqual([sent.token, own.token]);
  expect(await list(receiver, {}, FORMER)).toEqual([sent.token, own.token]);
  expect(await list(receiver, { is_sender: true })).toEqual([own.token]);
  expect(await list(receiver, { is_sender: false, status: "accepted" })).toEqual([sent.token]);
  expect(await list(stranger)).toEqual([]);
});

test("requests with the same Idempotency-Key make one transfer and one acceptance", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, accept } = await fixture(world);
  const send = (person: Person, url: string, payload: object) =>
    world.send({
      method: "POST",
      url,
      payload,
      headers: { authorization: `Bearer ${person.token}`, "idempotency-key": "once" },
    });
  const create = () => send(sender, TRANSFERS, { entities: { computes: [web.id] } });

  const [first, again] = [await create(), await create()];
  expect(again.json()).toEqual(first.json());
  const { token } = first.json<EntityTransfer>();
  const accepting = () => send(receiver, `${TRANSFERS}/${token}/accept`, {});
  expect([(await accepting()).statusCode, (await accepting()).statusCode]).toEqual([200, 200]);
  expect((await accept(receiver, { token })).status).toBe(400);
  expect(await world.openOperations()).toEqual(["moveEntities"]);
});

// Readers of events, or of the tables, must not be able to take the instances.
test("the token of a pending transfer is stored nowhere in plain text", async () => {
  await using world = await newWorld();
  const { web, offer, sender } = await fixture(world);
  const { token } = await offer(web);

  for (const table of ["transfers", "events", "audit", "idempotency_keys"] as const) {
    const rows = JSON.stringify(await world.db.selectFrom(table).selectAll().execute());
    expect([table, rows.includes(token)]).toEqual([table, false]);
  }
  const events = (await sender.get("/v4/account/events")).body as { data: object[] };
  expect(events.data[0]).toMatchObject({
    action: "entity_transfer_create",
    entity: { type: "entity_transfer", id: null },
  });
});

test("an image captured from an instance stays with the account that captured it", async () => {
  await using world = await newWorld();
  const { sender, receiver, web, offer, accept, move } = await fixture(world);
  const image = await availableImage(world, sender);

  await accept(receiver, await offer(web));
  await move();

  expect((await sender.get(`${IMAGES}/${image.id}`)).status).toBe(200);
  expect((await receiver.get(`${IMAGES}/${image.id}`)).status).toBe(404);
});
