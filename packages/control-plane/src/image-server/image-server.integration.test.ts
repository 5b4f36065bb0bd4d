import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { promisify } from "node:util";
import { gunzipSync, zstdCompressSync } from "node:zlib";
import { CHUNK_BYTES } from "@moorage/disk-image";
import { sql } from "kysely";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ImageStore } from "#images/index.ts";
import { sha256 } from "#platform/sha256.ts";
import { type ObjectStore, startObjectStore } from "#testing/object-store.ts";
import { keepImage } from "#testing/kept-image.ts";
import { IMAGE_SERVER, newWorld, REGION, type World } from "#testing/world.ts";
import { createImageServerMetrics } from "./image-server-metrics.ts";
import { type Link, signLink } from "./link.ts";
import { createImageServer } from "./server.ts";

const SECOND = "eu-west";
let world: World;
let home: ObjectStore;
let away: ObjectStore;

beforeAll(async () => {
  [world, home, away] = await Promise.all([newWorld(), startObjectStore(), startObjectStore()]);
});
afterAll(async () => {
  await Promise.all([world[Symbol.asyncDispose](), home[Symbol.asyncDispose](), away[Symbol.asyncDispose]()]);
});

/** Data, zeros, data, and a last piece that does not fill a chunk. */
const disk = (): Buffer =>
  Buffer.concat([
    randomBytes(CHUNK_BYTES),
    Buffer.alloc(CHUNK_BYTES),
    randomBytes(1024),
    Buffer.alloc(CHUNK_BYTES - 1024),
    randomBytes(512 * 3),
  ]);

async function startImageServer(serving: { streams?: number; idleMs?: number; region?: string } = {}) {
  const lines: string[] = [];
  const written = new Writable({ write: (chunk, _encoding, done) => (lines.push(String(chunk)), done()) });
  const registry = new Registry();
  const all: ImageStore[] = [
    { ...home.objects, name: "home", regions: [REGION] },
    { ...away.objects, name: "away", regions: [SECOND] },
  ];
  const app = createImageServer(
    {
      db: world.db,
      clock: world.clock,
      log: pino({ level: "trace" }, written),
      key: IMAGE_SERVER.key,
      stores: {
        all,
        of: (region) => all.find(({ regions }) => regions.includes(region)) ?? (all[0] as ImageStore),
        close: () => {},
      },
      metrics: createImageServerMetrics(registry),
      region: serving.region,
    },
    { streams: 4, drainMs: 60_000, check: async () => {}, ...serving },
  );
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const addressOf = (imageId: number, change: Partial<Link> = {}): string =>
    signLink({ url, key: IMAGE_SERVER.key }, { imageId, format: "raw", until: inAnHour(), ...change });
  return {
    app,
    url,
    lines,
    addressOf,
    get: (imageId: number, change: Partial<Link> = {}, init: RequestInit = {}) =>
      fetch(addressOf(imageId, change), init),
    metricLines: async () =>
      (await registry.metrics()).split("\n").filter((line) => line.startsWith("moorage_image_server")),
    [Symbol.asyncDispose]: async () => {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

const inAnHour = (): number => Math.floor(world.clock().getTime() / 1000) + 3600;
const kept = async (raw: Buffer, stores: Partial<Record<"home" | "away", ObjectStore>> = { home }) => {
  const { accountId } = await world.customer();
  const named = Object.entries(stores).map(([name, store]) => [name, store.objects]);
  return keepImage(world, raw, Object.fromEntries(named), { account: accountId });
};
const bytesOf = async (reply: Response): Promise<Buffer> => Buffer.from(await reply.arrayBuffer());
/** The received part of a response that was broken off. */
async function cameOf(reply: Response): Promise<Buffer> {
  const came: Uint8Array[] = [];
  try {
    for await (const piece of reply.body ?? []) came.push(piece);
  } catch {
    return Buffer.concat(came);
  }
  throw new Error("It came to its end.");
}
/** Comparing buffers of this size byte by byte would take the test runner minutes. */
const printOf = (bytes: Buffer): string => `${bytes.length} bytes, ${sha256(bytes).toString("hex")}`;

test("a raw image is sent byte for byte, with its length and digest", async () => {
  await using imageServer = await startImageServer();
  const { id, raw } = await kept(disk());
  const reply = await imageServer.get(id);
  expect(reply.status).toBe(200);
  expect(Object.fromEntries(reply.headers)).toMatchObject({
    "content-type": "application/octet-stream",
    "content-length": String(raw.length),
    "repr-digest": `sha-256=:${sha256(raw).toString("base64")}:`,
    "accept-ranges": "bytes",
  });
  expect(printOf(await bytesOf(reply))).toBe(printOf(raw));
  expect(await imageServer.metricLines()).toContain(
    `moorage_image_server_sent_bytes_total{format="raw"} ${raw.length}`,
  );
  expect(await imageServer.metricLines()).toContain(
    'moorage_image_server_streams_total{format="raw",outcome="whole"} 1',
  );
});

test("a gzip image unpacks to the same disk, and its zeros take next to nothing", async () => {
  await using imageServer = await startImageServer();
  const { id, raw } = await kept(disk());
  const reply = await imageServer.get(id, { format: "gzip" });
  expect(reply.headers.get("content-type")).toBe("application/gzip");
  const packed = await bytesOf(reply);
  expect(printOf(gunzipSync(packed))).toBe(printOf(raw));
  expect(packed.length).toBeLessThan(CHUNK_BYTES * 1.1);
});

test.each([
  ["nothing but zeros", Buffer.alloc(CHUNK_BYTES + 512)],
  ["one sector", randomBytes(512)],
  ["whole chunks alone", Buffer.concat([Buffer.alloc(CHUNK_BYTES), randomBytes(CHUNK_BYTES)])],
])("a disk of %s is sent completely in both formats", async (_, raw) => {
  await using imageServer = await startImageServer();
  const { id } = await kept(raw);
  expect(printOf(await bytesOf(await imageServer.get(id)))).toBe(printOf(raw));
  expect(printOf(gunzipSync(await bytesOf(await imageServer.get(id, { format: "gzip" }))))).toBe(printOf(raw));
});

test("a cut download continues where it was, and never with another image's bytes", async () => {
  await using imageServer = await startImageServer();
  const { id, raw } = await kept(disk());
  const part = (range: string, more: Record<string, string> = {}) =>
    imageServer.get(id, {}, { headers: { range: `bytes=${range}`, ...more } });

  for (const [from, to] of [
    [0, 1],
    [CHUNK_BYTES - 5, CHUNK_BYTES + 5],
    [CHUNK_BYTES * 2 + 100, raw.length],
    [raw.length - 1, raw.length],
  ] as const) {
    const reply = await part(`${from}-${to - 1}`);
    expect(reply.status).toBe(206);
    expect(reply.headers.get("content-range")).toBe(`bytes ${from}-${to - 1}/${raw.length}`);
    expect(printOf(await bytesOf(reply))).toBe(printOf(raw.subarray(from, to)));
  }
  const tag = (await part("0-0")).headers.get("etag") ?? "";
  expect((await part("5-9", { "if-range": tag })).status).toBe(206);
  const other = await part("5-9", { "if-range": '"another"' });
  expect(other.status).toBe(200);
  expect(printOf(await bytesOf(other))).toBe(printOf(raw));

  const beyond = await part(`${raw.length}-`);
  expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, `bytes */${raw.length}`]);
  const whole = await imageServer.get(id, { format: "gzip" }, { headers: { range: "bytes=5-9" } });
  expect(whole.status).toBe(200);
  await whole.body?.cancel();
});

test("HEAD returns length and digest, without a body", async () => {
  await using imageServer = await startImageServer();
  const { id, raw } = await kept(disk());
  const reply = await imageServer.get(id, {}, { method: "HEAD" });
  expect([reply.status, reply.headers.get("content-length")]).toEqual([200, String(raw.length)]);
  expect(
    (await imageServer.metricLines()).filter((line) => line.startsWith("moorage_image_server_sent_bytes")),
  ).toEqual([]);
});

test("a changed or expired address is refused with a sentence, and never logged", async () => {
  await using imageServer = await startImageServer();
  const { id } = await kept(randomBytes(512));
  const good = imageServer.addressOf(id);
  const changed = await fetch(good.replace("format=raw", "format=gzip"));
  expect([changed.status, await changed.text()]).toEqual([403, expect.stringContaining("does not match this address")]);
  const late = await imageServer.get(id, { until: inAnHour() - 3600 });
  expect([late.status, await late.text()]).toEqual([403, expect.stringContaining("This address expired at")]);
  expect((await fetch(good)).status).toBe(200);

  expect(imageServer.lines.join("")).toContain(`/images/${id}`);
  for (const secret of [new URL(good).searchParams.get("signature") ?? "", "signature="])
    expect(imageServer.lines.join("")).not.toContain(secret);
});

test("an image that is not available, deleted or unknown is not found", async () => {
  await using imageServer = await startImageServer();
  const { id } = await kept(randomBytes(512));
  const set = (change: object) => world.db.updateTable("images").set(change).where("id", "=", id).execute();
  const status = async (of = id) => (await imageServer.get(of)).status;
  expect(await status()).toBe(200);
  await set({ status: "creating" });
  expect(await status()).toBe(404);
  await set({ status: "available", deleted_at: world.clock() });
  expect(await status()).toBe(404);
  expect(await status(id + 1024)).toBe(404);
});

test("a damaged chunk breaks the connection, and no byte of it is sent", async () => {
  await using imageServer = await startImageServer();
  const { id, raw, keyOf } = await kept(disk());
  home.flipByte(keyOf(2), 40);
  const before = CHUNK_BYTES * 2;
  const [plain, packed] = [
    await cameOf(await imageServer.get(id)),
    await cameOf(await imageServer.get(id, { format: "gzip" })),
  ];
  expect(plain.length).toBeLessThanOrEqual(before);
  expect(printOf(plain)).toBe(printOf(raw.subarray(0, plain.length)));
  expect(packed.length).toBeLessThanOrEqual(CHUNK_BYTES * 1.1);
  expect(await imageServer.metricLines()).toContain(
    'moorage_image_server_streams_total{format="raw",outcome="broken"} 1',
  );
  expect(await imageServer.metricLines()).toContain(
    'moorage_image_server_streams_total{format="gzip",outcome="broken"} 1',
  );
  expect(await imageServer.metricLines()).toContain(
    'moorage_image_server_store_faults_total{store="home",fault="damaged"} 4',
  );
});

test("a chunk replaced by another complete one is not sent", async () => {
  await using imageServer = await startImageServer();
  const { id, raw, keyOf } = await kept(randomBytes(CHUNK_BYTES * 2));
  await home.objects.put(keyOf(1), zstdCompressSync(randomBytes(CHUNK_BYTES)));
  const came = await cameOf(await imageServer.get(id));
  expect(printOf(came)).toBe(printOf(raw.subarray(0, came.length)));
  expect(await imageServer.metricLines()).toContain(
    'moorage_image_server_store_faults_total{store="home",fault="damaged"} 2',
  );
});

test("intact chunks that together are not the disk are not sent to their end", async () => {
  await using imageServer = await startImageServer();
  const { id, raw } = await kept(disk());
  await world.db
    .updateTable("images")
    .set({ raw_sha256: sha256("another disk") })
    .where("id", "=", id)
    .execute();
  const reply = await imageServer.get(id);
  expect(reply.headers.get("content-length")).toBe(String(raw.length));
  expect((await cameOf(reply)).length).toBeLessThan(raw.length);
  expect((await cameOf(await imageServer.get(id, { format: "gzip" }))).length).toBeLessThan(raw.length);
});

test("a chunk that is damaged in one store is read from the other", async () => {
  await using imageServer = await startImageServer();
  const { id, raw, keyOf } = await kept(disk(), { home, away });
  home.flipByte(keyOf(0), 40);
  expect(printOf(await bytesOf(await imageServer.get(id)))).toBe(printOf(raw));
  expect(await imageServer.metricLines()).toContain(
    'moorage_image_server_store_faults_total{store="home",fault="damaged"} 1',
  );
});

test("a region's own store is read first, and the others are not called", async () => {
  await using imageServer = await startImageServer({ region: SECOND });
  const { id, raw, keyOf } = await kept(disk(), { home, away });
  home.flipByte(keyOf(0), 40);
  expect(printOf(await bytesOf(await imageServer.get(id)))).toBe(printOf(raw));
  expect((await imageServer.metricLines()).filter((line) => line.includes("faults_total{"))).toEqual([]);
  // The address may name another one.
  expect(printOf(await bytesOf(await imageServer.get(id, { region: REGION })))).toBe(printOf(raw));
  expect(await imageServer.metricLines()).toContain(
    'moorage_image_server_store_faults_total{store="home",fault="damaged"} 1',
  );
});

test("an unreachable store is skipped; with none left the image is unavailable", async () => {
  await using imageServer = await startImageServer();
  const both = await kept(disk(), { home, away });
  const only = await kept(disk(), { home });
  await home.stop();
  try {
    expect(printOf(await bytesOf(await imageServer.get(both.id)))).toBe(printOf(both.raw));
    // It is called once, and not again for every chunk.
    expect(await imageServer.metricLines()).toContain(
      'moorage_image_server_store_faults_total{store="home",fault="away"} 1',
    );
    const refused = await imageServer.get(only.id);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(refused.headers.get("content-length")).not.toBe(String(only.raw.length));
    expect(await refused.text()).toContain("no object store has a complete copy");
  } finally {
    await home.start();
  }
  expect(printOf(await bytesOf(await imageServer.get(only.id)))).toBe(printOf(only.raw));
});

test("an incomplete copy is not read", async () => {
  await using imageServer = await startImageServer({ region: SECOND });
  const { id, raw, keyOf } = await kept(disk(), { home, away });
  await world.db.updateTable("image_copies").set({ status: "pending" }).where("store", "=", "away").execute();
  await away.delete(keyOf(0));
  expect(printOf(await bytesOf(await imageServer.get(id)))).toBe(printOf(raw));
  expect((await imageServer.metricLines()).filter((line) => line.includes("faults_total{"))).toEqual([]);
});

test("a manifest that differs from the stored digest is refused", async () => {
  await using imageServer = await startImageServer();
  const image = await kept(disk());
  home.flipByte(image.keyOf(0).replace(/[^/]+$/, "manifest.json"), 20);
  expect((await imageServer.get(image.id)).status).toBe(503);
});

test("the number of concurrent downloads is limited, and a client that disconnects frees its place", async () => {
  await using imageServer = await startImageServer({ streams: 1 });
  // More than sockets buffer, so that it is not sent before it is read.
  const { id, raw } = await kept(Buffer.concat(Array.from({ length: 6 }, () => randomBytes(CHUNK_BYTES))));
  const leaving = new AbortController();
  const first = await imageServer.get(id, {}, { signal: leaving.signal });
  expect(first.status).toBe(200);
  const second = await imageServer.get(id);
  expect([second.status, await second.text()]).toEqual([
    503,
    expect.stringContaining("the most that it sends at once"),
  ]);
  expect((await imageServer.get(id, {}, { method: "HEAD" })).status).toBe(200);

  leaving.abort();
  await vi.waitFor(
    async () => expect(await imageServer.metricLines()).toContain("moorage_image_server_streams 0"),
    30_000,
  );
  expect(await imageServer.metricLines()).toContain(
    'moorage_image_server_streams_total{format="raw",outcome="left"} 1',
  );
  expect(printOf(await bytesOf(await imageServer.get(id)))).toBe(printOf(raw));
});

test("a client that disconnects before its image was found takes no place", async () => {
  await using imageServer = await startImageServer({ streams: 1 });
  const { id, raw } = await kept(disk());
  const leaving = new AbortController();
  await world.db.transaction().execute(async (tx) => {
    await sql`lock table images in access exclusive mode`.execute(tx);
    const left = imageServer.get(id, {}, { signal: leaving.signal });
    const waits = sql`select 1 from pg_locks where not granted and relation = 'images'::regclass`;
    await vi.waitFor(async () => expect((await waits.execute(tx)).rows).toHaveLength(1), 60_000);
    leaving.abort();
    await expect(left).rejects.toThrow("abort");
    const connections = promisify(imageServer.app.server.getConnections.bind(imageServer.app.server));
    await vi.waitFor(async () => expect(await connections()).toBe(0), 60_000);
  });
  expect(printOf(await bytesOf(await imageServer.get(id)))).toBe(printOf(raw));
});

test("a client that reads nothing for too long is disconnected", async () => {
  await using imageServer = await startImageServer({ streams: 1, idleMs: 3000 });
  const { id } = await kept(Buffer.concat(Array.from({ length: 6 }, () => randomBytes(CHUNK_BYTES))));
  const { port, pathname, search } = new URL(imageServer.addressOf(id));
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: image-server\r\n\r\n`);
  await vi.waitFor(
    async () => expect(await imageServer.metricLines()).toContain("moorage_image_server_streams 1"),
    30_000,
  );
  await vi.waitFor(
    async () => expect(await imageServer.metricLines()).toContain("moorage_image_server_streams 0"),
    30_000,
  );
  socket.destroy();
});

test("an image server that shuts down completes running downloads", async () => {
  const imageServer = await startImageServer();
  const { id, raw } = await kept(Buffer.concat(Array.from({ length: 6 }, () => randomBytes(CHUNK_BYTES))));
  const reply = await imageServer.get(id);
  // Otherwise the connection stays open after the response, and the image server waits for it.
  expect(reply.headers.get("connection")).toBe("close");
  const closed = imageServer.app.close();
  expect(printOf(await bytesOf(reply))).toBe(printOf(raw));
  await closed;
});

test("gzip is not sent over HTTP/1.0, where a cut would look like the end", async () => {
  await using imageServer = await startImageServer();
  const { id } = await kept(randomBytes(512));
  const { port, pathname, search } = new URL(imageServer.addressOf(id, { format: "gzip" }));
  const socket = connect(Number(port), "127.0.0.1");
  socket.write(`GET ${pathname}${search} HTTP/1.0\r\n\r\n`);
  let response = "";
  for await (const piece of socket) response += String(piece);
  expect(response).toMatch(/^HTTP\/1\.1 505 /);
});
