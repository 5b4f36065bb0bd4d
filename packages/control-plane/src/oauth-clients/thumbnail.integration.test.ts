import { compressedText, picture, png, text } from "@moorage/testkit/pictures.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Event, OAuthClient } from "@moorage/contract";
import sharp from "sharp";
import { newWorld, PUBLIC_URL, type World } from "#testing/world.ts";

const CLIENTS = "/v4/account/oauth-clients";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function register() {
  const alice = await world.customer();
  const made = await alice.post<OAuthClient>(CLIENTS, {
    label: "An app",
    redirect_uri: "https://app.example.com/back",
  });
  const { id } = made.body;
  const url = `${CLIENTS}/${id}/thumbnail`;
  const send = (file: Buffer | undefined, headers: Record<string, string> = {}, to = url) =>
    world.send({
      method: "PUT",
      url: to,
      headers: { authorization: `Bearer ${alice.token}`, "content-type": "image/png", ...headers },
      ...(file && { payload: file }),
    });
  return { alice, id, url, send, fetch: () => world.send({ url }) };
}

/** The red, green, blue and alpha values of one pixel. */
const pixel = async (image: Buffer, x: number, y: number): Promise<number[]> => {
  const { data } = await sharp(image).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return [...data.subarray((y * 128 + x) * 4, (y * 128 + x) * 4 + 4)];
};

describe("a picture", () => {
  test.each([
    ["PNG", "image/png", () => picture().png().toBuffer()],
    ["JPEG", "image/jpeg", () => picture().jpeg().toBuffer()],
    ["GIF", "image/gif", () => picture().gif().toBuffer()],
    ["PNG of 16 bits", "image/png", () => picture().toColourspace("rgb16").png().toBuffer()],
    ["JPEG in ink colours", "image/jpeg", () => picture().toColourspace("cmyk").jpeg().toBuffer()],
    ["PNG that is interlaced", "image/png", () => picture().png({ progressive: true }).toBuffer()],
    ["PNG of one pixel", "image/png", () => picture({ width: 1, height: 1 }).png().toBuffer()],
    ["PNG as large as it may be", "image/png", async () => png({ width: 4096, height: 4096 })],
  ])("%s becomes a PNG of 128×128, visible to everybody", async (_, type, draw) => {
    const { alice, id, url, send, fetch } = await register();

    const sent = await send(await draw(), { "content-type": type });

    expect([sent.statusCode, sent.json()]).toEqual([200, {}]);
    const reply = await fetch();
    expect(reply.statusCode).toBe(200);
    expect(reply.headers).toMatchObject({
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'",
      "cache-control": "private, max-age=60",
    });
    expect(await sharp(reply.rawPayload).metadata()).toMatchObject({ format: "png", width: 128, height: 128 });
    expect((await alice.get(`${CLIENTS}/${id}`)).body).toMatchObject({ thumbnail_url: `${PUBLIC_URL}${url}` });
  });

  test("is shown completely, centred, on a transparent background", async () => {
    const { send, fetch } = await register();

    await send(await picture({ width: 256, height: 128, background: "#ff0000" }).png().toBuffer());

    const { rawPayload } = await fetch();
    expect(await pixel(rawPayload, 64, 64)).toEqual([255, 0, 0, 255]);
    expect(await pixel(rawPayload, 0, 64)).toEqual([255, 0, 0, 255]);
    expect((await pixel(rawPayload, 64, 10))[3]).toBe(0);
    expect((await pixel(rawPayload, 64, 117))[3]).toBe(0);
  });

  test("that is animated is reduced to its first frame", async () => {
    const { send, fetch } = await register();
    const frames = await Promise.all(
      ["#ff0000", "#00ff00"].map((background) => picture({ width: 32, height: 32, background }).png().toBuffer()),
    );

    await send(
      await sharp(frames, { join: { animated: true } })
        .gif()
        .toBuffer(),
      { "content-type": "image/gif" },
    );

    expect(await pixel((await fetch()).rawPayload, 64, 64)).toEqual([255, 0, 0, 255]);
  });

  test("loses all other data of its file", async () => {
    const { send, fetch } = await register();
    const whole = png({ width: 64, height: 64 }, [text("where I live"), compressedText(1_000)]);

    await send(Buffer.concat([whole, Buffer.from("<script>alert(1)</script>")]));
    const { rawPayload } = await fetch();
    for (const words of ["where I live", "script", "Comment"]) expect(rawPayload.includes(words)).toBe(false);

    const tagged = picture().withExif({ IFD0: { Copyright: "me alone" }, IFD3: { GPSLatitude: "1/1 2/1 3/1" } });
    await send(await tagged.jpeg().toBuffer(), { "content-type": "image/jpeg" });
    const metadata = await sharp((await fetch()).rawPayload).metadata();
    expect([metadata.exif, metadata.icc, metadata.xmp]).toEqual([undefined, undefined, undefined]);
  });

  test("is rotated upright", async () => {
    const { send, fetch } = await register();
    const half = await picture({ width: 64, height: 128, background: "#ff0000" }).png().toBuffer();
    const lying = picture({ width: 128, height: 128, background: "#0000ff" }).composite([
      { input: half, left: 0, top: 0 },
    ]);

    await send(await lying.withMetadata({ orientation: 6 }).jpeg({ quality: 100 }).toBuffer());

    const { rawPayload } = await fetch();
    const [red = 0, , blue = 0] = await pixel(rawPayload, 64, 10);
    expect(red).toBeGreaterThan(200);
    expect(blue).toBeLessThan(50);
  });

  test("is replaced by the next one, and deleted with its client", async () => {
    const { alice, id, url, send, fetch } = await register();
    const draw = (background: string) => picture({ width: 9, height: 9, background }).png().toBuffer();

    await send(await draw("#ff0000"));
    await send(await draw("#0000ff"));
    expect(await pixel((await fetch()).rawPayload, 64, 64)).toEqual([0, 0, 255, 255]);
    const { data } = (await alice.get<{ data: Event[] }>("/v4/account/events")).body;
    expect(data.map(({ action }) => action)).toEqual([
      "oauth_client_update",
      "oauth_client_update",
      "oauth_client_create",
    ]);

    await alice.delete(`${CLIENTS}/${id}`);
    expect((await fetch()).statusCode).toBe(404);
    expect((await send(await draw("#ff0000"))).statusCode).toBe(404);
    const kept = await world.db
      .selectFrom("oauth_client_thumbnails")
      .select("client_id")
      .where("client_id", "=", id)
      .execute();
    expect([url, kept]).toEqual([url, []]);
  });

  test("may be sent as one of the SDKs does", async () => {
    const { alice, url, send, fetch } = await register();
    const file = await picture().jpeg().toBuffer();

    const sent = await send(file, { authorization: `token ${alice.token}` }, url.replace("/v4/", "/v4//"));

    expect(sent.statusCode).toBe(200);
    expect((await fetch()).statusCode).toBe(200);
  });
});

describe("a file that is no picture, or more than one", () => {
  const hostile: Record<string, () => Promise<Buffer> | Buffer> = {
    "no bytes": () => Buffer.alloc(0),
    text: () => Buffer.from("hello"),
    "the beginning of a PNG": () => png({ width: 64, height: 64 }).subarray(0, 8),
    "a PNG without pixels": () => png({ width: 64, height: 64 }, [], Buffer.alloc(0)),
    "a PNG with too few pixels": () => png({ width: 64, height: 64 }, [], Buffer.alloc(1000, 1)),
    "a PNG that ends early": () => cut(png({ width: 64, height: 64 }, [], noise(65 * 64))),
    "a PNG with a wrong sum": () => flipped(png({ width: 64, height: 64 }, [], noise(65 * 64))),
    "a PNG without a width": () => png({ width: 0, height: 64 }),
    "a PNG of 20,000×20,000": () => png({ width: 20_000, height: 20_000 }),
    "a PNG of 4097×1": () => png({ width: 4097, height: 1 }),
    "a PNG of 1×4097": () => png({ width: 1, height: 4097 }),
    "a PNG that claims 2,147,483,647×1": () => png({ width: 2_147_483_647, height: 1 }, [], Buffer.alloc(10)),
    "a JPEG that ends early": async () => cut(await picture().jpeg().toBuffer()),
    "a JPEG that claims 65,500×65,500": async () => claimed(await picture().jpeg().toBuffer()),
    "a GIF that ends early": async () => cut(await picture().gif().toBuffer()),
    "a GIF that is a script": () => Buffer.from("GIF89a=1;alert(document.domain)//"),
    "a PNG that is a page": () => Buffer.concat([png({ width: 9, height: 9 }).subarray(0, 33), Buffer.from("<html>")]),
    "an SVG": () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script/></svg>'),
    "an SVG behind a declaration": () => Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
    "a WebP": () => picture().webp().toBuffer(),
    "an AVIF": () => picture().avif().toBuffer(),
    "a TIFF": () => picture().tiff().toBuffer(),
    "a PDF": () => Buffer.from("%PDF-1.7\n"),
    "a ZIP": () => Buffer.from("PK\u0003\u0004"),
    "a PNG in base64": () => Buffer.from(png({ width: 9, height: 9 }).toString("base64")),
  };

  test.each(Object.entries(hostile))("%s is refused with a reason, and nothing changes", async (_, make) => {
    const { alice, id, send, fetch } = await register();

    const reply = await send(await make());

    expect(reply.statusCode).toBe(400);
    expect(reply.headers["content-type"]).toBe("application/json");
    expect(reply.json()).toEqual({ errors: [{ reason: expect.stringMatching(/^The (?:body|picture) .{20,}\.$/) }] });
    expect((await fetch()).statusCode).toBe(404);
    expect((await alice.get(`${CLIENTS}/${id}`)).body).toMatchObject({ thumbnail_url: null });
    expect((await alice.get("/v4/account/events")).body).toMatchObject({ results: 1 });
  });

  test("text that would decompress to 100 MB is not decompressed", async () => {
    const { send } = await register();
    const bomb = png({ width: 16, height: 16 }, [compressedText(100_000_000)]);
    const before = process.memoryUsage().rss;

    expect((await send(bomb)).statusCode).toBe(200);

    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000);
  });

  test.each([["image/svg+xml"], ["image/webp"], ["application/octet-stream"], ["multipart/form-data; boundary=x"]])(
    "as %s it is refused, whatever its bytes",
    async (type) => {
      const { send } = await register();

      const reply = await send(await picture().png().toBuffer(), { "content-type": type });

      expect(reply.statusCode).toBe(400);
      expect(reply.json()).toMatchObject({ errors: [{ field: "Content-Type" }] });
    },
  );

  test("more than 1 MiB is 413", async () => {
    const { send } = await register();

    const reply = await send(png({ width: 16, height: 16 }, [text("x".repeat(1024 * 1024))]));

    expect(reply.statusCode).toBe(413);
    expect(reply.json()).toEqual({ errors: [{ reason: "The body must have at most 1048576 bytes." }] });
  });
});

test("missing permission is reported before the file is checked", async () => {
  const { id, url, send } = await register();
  const stranger = await world.customer();
  const reader = await world.customer({ scopes: ["account:read_only"] });
  const clerk = await world.colleague(stranger.accountId, { restricted: true });
  const as = async (token: string, to = url) =>
    (await send(Buffer.from("no picture"), { "content-type": "text/plain", authorization: `Bearer ${token}` }, to))
      .statusCode;

  expect(await as("0".repeat(64))).toBe(401);
  expect(await as(reader.token)).toBe(401);
  expect(await as(clerk.token)).toBe(403);
  expect(await as(stranger.token)).toBe(404);
  expect(await as(stranger.token, url.replace(id, "0".repeat(20)))).toBe(404);
});

test("a missing picture is a 404 in JSON", async () => {
  const { fetch } = await register();

  const reply = await fetch();

  expect([reply.statusCode, reply.json()]).toEqual([
    404,
    { errors: [{ reason: expect.stringMatching(/^Not found: there is no thumbnail of OAuth client /) }] },
  ]);
  expect(reply.headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
});

test("many large pictures at once are all answered, some later", async () => {
  const { send } = await register();
  const large = png({ width: 4096, height: 4096 });

  const replies = await Promise.all(Array.from({ length: 30 }, () => send(large)));

  const statuses = replies.map(({ statusCode }) => statusCode);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(22);
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
});

const cut = (file: Buffer): Buffer => file.subarray(0, file.length >> 1);
const noise = (bytes: number): Buffer =>
  Buffer.from(Array.from({ length: bytes }, (_, n) => (n % 65 === 0 ? 0 : (n * 7919) % 251)));
const flipped = (file: Buffer): Buffer => {
  const at = file.length - 20;
  file[at] = (file[at] ?? 0) ^ 1;
  return file;
};
/** Enlarges the size in a JPEG's header. */
const claimed = (file: Buffer): Buffer => {
  const at = file.findIndex((byte, n) => byte === 0xff && [0xc0, 0xc2].includes(file[n + 1] ?? 0));
  file.writeUInt16BE(65_500, at + 5);
  file.writeUInt16BE(65_500, at + 7);
  return file;
};
