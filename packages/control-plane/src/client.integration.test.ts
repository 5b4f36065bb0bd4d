import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ApiError, createClient, EventFailed } from "@moorage/client";
import {
  addPaymentMethod,
  cancelAccount,
  createMysqlDatabase,
  createOAuthClient,
  createPayment,
  deleteImage,
  downloadInvoiceCsv,
  downloadInvoicePdf,
  listDatabaseEngines,
  listImages,
  listInvoices,
  listMysqlDatabases,
  updateAccount,
  updateImage,
  updateMysqlDatabase,
  updateOAuthClientThumbnail,
  uploadImage,
  viewAccount,
  viewDatabaseEngine,
  viewImage,
  viewMysqlDatabase,
  viewOAuthClientThumbnail,
  viewProfileGrants,
} from "@moorage/contract";
import sharp from "sharp";
import { expect, test } from "vitest";
import { databaseFixture } from "./testing/active-database.ts";
import { served } from "./testing/served.ts";
import { ENGINE, newWorld, PLAN, REGION, type World } from "./testing/world.ts";

const newDatabase = (label: string) => ({ label, region: REGION, type: PLAN, engine: ENGINE });

test("operations are called by the table, with slashes in ids, and without a token where public", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token } = await world.customer();
  const client = createClient({ url: api.url, token });

  const created = await client.call(createMysqlDatabase, { body: newDatabase("by-client") });
  const viewed = await client.call(viewMysqlDatabase, { params: { instanceId: created.id } });
  const anonymous = createClient({ url: api.url });

  expect(viewed).toEqual(created);
  expect((await anonymous.call(listDatabaseEngines)).results).toBe(2);
  expect((await anonymous.call(viewDatabaseEngine, { params: { engineId: ENGINE } })).version).toBe("9.7.4");
});

test("images are uploaded, filtered and changed by id, and the operator's are visible without a token", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token, username } = await world.customer();
  const [client, anonymous] = [createClient({ url: api.url, token }), createClient({ url: api.url })];

  const body = { label: "disk", region: REGION };
  const { image, upload_to } = await client.call(uploadImage, { body });
  const params = { imageId: image.id };
  const renamed = await client.call(updateImage, { params, body: { label: "boot", description: null } });
  const found = await client.call(listImages, { filter: { is_public: false, "+order_by": "size" } });
  // @ts-expect-error: the list cannot be ordered by status.
  const disordered = client.call(listImages, { filter: { "+order_by": "status" } });

  expect(image).toMatchObject({ status: "pending_upload", label: "disk", created_by: username, size: 0 });
  expect(new URL(upload_to).searchParams.get("X-Amz-SignedHeaders")).toBe("host");
  expect(renamed.label).toBe("boot");
  expect(found.data).toEqual([renamed]);
  await expect(disordered).rejects.toMatchObject({ status: 400 });
  expect(await client.call(viewImage, { params })).toEqual(renamed);
  expect((await anonymous.call(listImages)).results).toBe(0);
  await expect(anonymous.call(viewImage, { params })).rejects.toMatchObject({ status: 401 });
  expect(await client.call(deleteImage, { params })).toEqual({});
});

test("an error names every field", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token } = await world.customer();
  const client = createClient({ url: api.url, token });

  const refused = await client
    .call(createMysqlDatabase, { body: { ...newDatabase("x"), cluster_size: 2 as 1 } })
    .catch((error: unknown) => error as ApiError);

  expect(refused).toBeInstanceOf(ApiError);
  expect(refused).toMatchObject({ status: 400 });
  expect((refused as ApiError).reasonFor("label")).toContain("3 to 32 characters");
  expect((refused as ApiError).reasonFor("cluster_size")).toContain("1 or 3");
});

test("a request refused for overload is retried with its key, after the time in the answer", async () => {
  await using world = await newWorld();
  using api = await served(world, (n) =>
    n === 1
      ? { status: 429, headers: { "retry-after": "1" } }
      : n === 2
        ? { status: 503, headers: { "retry-after": "0" } }
        : undefined,
  );
  const { token } = await world.customer();
  const started = performance.now();

  await createClient({ url: api.url, token }).call(createMysqlDatabase, { body: newDatabase("patient") });

  expect(performance.now() - started).toBeGreaterThan(990);
  expect(api.seen.map(({ method }) => method)).toEqual(["POST", "POST", "POST"]);
  expect(new Set(api.seen.map(({ key }) => key)).size).toBe(1);
  expect(api.seen[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
});

test("maintenance is not waited for", async () => {
  await using world = await newWorld();
  using api = await served(world, () => ({ status: 503, headers: { "x-maintenance-mode": "on", "retry-after": "0" } }));

  await expect(createClient({ url: api.url }).call(listDatabaseEngines)).rejects.toMatchObject({ status: 503 });
  expect(api.seen).toHaveLength(1);
});

test("items are fetched page by page, filtered", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const alice = await world.customer({ limits: { databases: 40, nodes: 40 } });
  for (let n = 10; n < 37; n++) await alice.create({ label: `many-${n}` });
  const client = createClient({ url: api.url, token: alice.token });

  const labels: string[] = [];
  const input = { query: { page_size: 25 }, filter: { "+order_by": "label", "+order": "desc" } } as const;
  for await (const { label } of client.items(listMysqlDatabases, input)) labels.push(label);

  expect(labels).toHaveLength(27);
  expect([labels[0], labels[26]]).toEqual(["many-36", "many-10"]);
  const one = await client.call(listMysqlDatabases, { filter: { label: { "+contains": "ny-12" } } });
  expect(one.data.map(({ label }) => label)).toEqual(["many-12"]);
});

test("waiting for an event ends with it, and its failure is thrown", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const alice = await world.customer();
  const client = createClient({ url: api.url, token: alice.token });
  const entity = async () => ({ type: "database", id: (await alice.create()).body.id });
  const settle = (id: number, status: "finished" | "failed") =>
    world.db.updateTable("events").set({ status }).where("entity_id", "=", String(id)).execute();
  const [good, bad] = [await entity(), await entity()];

  const waiting = client.waitFor({ action: "database_create", entity: good, everyMs: 20 });
  await settle(good.id, "finished");
  await settle(bad.id, "failed");

  expect(await waiting).toMatchObject({ status: "finished", entity: { id: good.id } });
  await expect(client.waitFor({ action: "database_create", entity: bad })).rejects.toBeInstanceOf(EventFailed);
});

test("a call waits for the event that it emits, not for an older one", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { alice, database } = await databaseFixture(world);
  const client = createClient({ url: api.url, token: alice.token });
  const params = { instanceId: database.id };
  const seen: string[] = [];
  const renamed = await client.callAndWait(updateMysqlDatabase, { params, body: { label: "first" } });

  const changing = client.callAndWait(
    updateMysqlDatabase,
    { params, body: { allow_list: [] } },
    { everyMs: 20, onProgress: ({ id, status }) => void seen.push(`${id} ${status}`) },
  );
  await expect.poll(() => seen.length).toBeGreaterThan(0);
  await world.db.updateTable("events").set({ status: "finished" }).where("status", "=", "started").execute();
  const { reply, event } = await changing;

  expect(renamed.event).toMatchObject({ action: "database_update", status: "finished" });
  expect(reply).toMatchObject({ label: "first", status: "updating" });
  expect(event.id).toBeGreaterThan(renamed.event.id);
  expect(seen[0]).toBe(`${event.id} started`);
  expect(await client.waitFor(event)).toEqual(event);
});

test("a lost request is retried, and after the last attempt the error names the server", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token } = await world.customer();
  const lost: string[] = [];
  const losing: typeof fetch = async (url, init) => {
    if (lost.push(String(init?.method)) <= 2) throw new TypeError("fetch failed");
    return fetch(url, init);
  };
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;

  await createClient({ url: api.url, token, fetch: losing }).call(updateAccount, { body: { city: "Bremen" } });
  const nobody = createClient({ url: `http://127.0.0.1:${port}`, timeoutMs: 50, tries: 2 }).call(listDatabaseEngines);

  expect(lost).toEqual(["PUT", "PUT", "PUT"]);
  await expect(nobody).rejects.toMatchObject({ name: "NoAnswer", tries: 2, operation: "listDatabaseEngines" });
  silent.closeAllConnections();
  silent.close();
});

test("waiting ends when its signal aborts", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token } = await world.customer();
  const waiting = createClient({ url: api.url, token }).waitFor({
    action: "database_create",
    entity: { type: "database", id: 1 },
    signal: AbortSignal.timeout(100),
  });

  await expect(waiting).rejects.toMatchObject({ name: "TimeoutError" });
});

test("files are sent and received unchanged", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token } = await world.customer();
  const client = createClient({ url: api.url, token });
  const { id } = await client.call(createOAuthClient, {
    body: { label: "An app", redirect_uri: "https://app.test/back" },
  });
  const square = { width: 8, height: 8, channels: 3, background: "teal" } as const;
  const jpeg = new Uint8Array(await sharp({ create: square }).jpeg().toBuffer());

  await client.call(updateOAuthClientThumbnail, {
    params: { clientId: id },
    file: { bytes: jpeg, type: "image/jpeg" },
  });
  const seen = await createClient({ url: api.url }).call(viewOAuthClientThumbnail, { params: { clientId: id } });

  expect(await sharp(seen).metadata()).toMatchObject({ format: "png", width: 128, height: 128 });
});

test("an answer without a body is undefined", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const everything = await world.customer();
  const little = await world.colleague(everything.accountId, { restricted: true });

  const grants = await createClient({ url: api.url, token: little.token }).call(viewProfileGrants);
  expect(grants?.global.account_access).toBeNull();
  expect(await createClient({ url: api.url, token: everything.token }).call(viewProfileGrants)).toBeUndefined();
});

test("billing is accessible: a card, a payment, an invoice and its files", async () => {
  await using world = await newWorld();
  using api = await served(world);
  const { token, accountId } = await world.customer();
  const client = createClient({ url: api.url, token });
  const data = { card_number: "4242424242424242", cvv: "123", expiry_month: 12, expiry_year: 2049 };

  await client.call(updateAccount, { body: { country: "DE", zip: "20457" } });
  await client.call(addPaymentMethod, { body: { type: "credit_card", is_default: true, data } });
  const paid = await client.call(createPayment, { body: { usd: "12.50" } });
  const invoiceId = await oldInvoice(world, accountId);
  const params = { invoiceId };
  const [invoice] = await Array.fromAsync(client.items(listInvoices));
  const pdf = await client.call(downloadInvoicePdf, { params });
  const csv = await client.call(downloadInvoiceCsv, { params });

  expect((await client.call(viewAccount)).balance).toBe(-paid.usd);
  expect(invoice).toMatchObject({ id: invoiceId, total: 0 });
  expect(Buffer.from(pdf).subarray(0, 5).toString()).toBe("%PDF-");
  expect(Buffer.from(csv).toString()).toContain("label");
  expect(await client.call(cancelAccount, { body: {} })).toHaveProperty("survey_link");
  await expect(client.call(viewAccount)).rejects.toMatchObject({ status: 401 });
});

/** An empty invoice, as the month end creates it. */
async function oldInvoice({ db, time }: World, accountId: number): Promise<number> {
  const bill_to = Object.fromEntries(
    ["company", "first_name", "last_name", "address_1", "address_2", "city", "state", "zip", "country"].map((name) => [
      name,
      "",
    ]),
  );
  const row = db
    .insertInto("invoices")
    .values({
      account_id: accountId,
      month: "2010-01-01",
      label: "Invoice",
      billing_source: "operator",
      created_at: time.now,
      until: new Date("2010-02-01T00:00:00Z"),
      subtotal_micros: 0,
      tax_micros: 0,
      total_micros: 0,
      tax_summary: "[]",
      bill_to: JSON.stringify({ ...bill_to, tax_id: "", email: "" }),
    })
    .returning("id");
  return (await row.executeTakeFirstOrThrow()).id;
}
