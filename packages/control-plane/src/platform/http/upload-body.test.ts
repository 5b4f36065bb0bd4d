import { type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { fileOf, readFiles } from "./request-body.ts";
import { createServer } from "./server.ts";
import { texts } from "./texts.ts";

const MOST = 1024 * 1024;
const types = ["image/png", "image/gif"];

async function serve() {
  const app = createServer(createLog("test", "silent"));
  await app.register(async (scope) => {
    readFiles(scope);
    scope.put("/file", { bodyLimit: MOST }, async (call) => ({ bytes: fileOf(call, types).toString("base64") }));
  });
  app.put("/json", async ({ body }) => ({ body }));
  await app.listen({ host: "127.0.0.1", port: 0 });
  return { app, port: (app.server.address() as AddressInfo).port, [Symbol.asyncDispose]: () => app.close() };
}

test("a file is stored unchanged, whatever its bytes", async () => {
  await using server = await serve();
  const file = Buffer.from([0, 255, 13, 10, 0xc3, 0x28, 123]);

  for (const type of ["image/png", "IMAGE/GIF", "image/png; name=x"]) {
    const reply = await server.app.inject({
      method: "PUT",
      url: "/file",
      payload: file,
      headers: { "content-type": type },
    });
    expect(reply.json()).toEqual({ bytes: file.toString("base64") });
  }
});

test.each([
  ["another type", "image/svg+xml"],
  ["JSON", "application/json"],
  ["a form", "multipart/form-data; boundary=x"],
  ["a type that only begins like one", "image/png2"],
  ["no type", undefined],
])("%s is refused, with the accepted types", async (_, type) => {
  await using server = await serve();

  const reply = await server.app.inject({
    method: "PUT",
    url: "/file",
    payload: Buffer.from("{}"),
    headers: type === undefined ? {} : { "content-type": type },
  });

  expect(reply.statusCode).toBe(400);
  expect(reply.json()).toEqual({
    errors: [
      {
        field: "Content-Type",
        reason: "Content-Type must be a valid value: image/png or image/gif, with the file itself as the body",
      },
    ],
  });
});

test.each(["picture", "image/png, image/gif"])("%j is no media type, and the refusal is JSON too", async (type) => {
  await using server = await serve();

  const reply = await server.app.inject({
    method: "PUT",
    url: "/file",
    payload: Buffer.from("{}"),
    headers: { "content-type": type },
  });

  expect(reply.statusCode).toBe(415);
  expect(reply.json()).toMatchObject({ errors: [{ reason: expect.any(String) }] });
});

test("an empty file is accepted", async () => {
  await using server = await serve();

  const reply = await server.app.inject({ method: "PUT", url: "/file", headers: { "content-type": "image/png" } });

  expect(reply.json()).toEqual({ bytes: "" });
});

test.each([
  ["with its length in a header", true],
  ["that comes in pieces", false],
])("a file above the limit %s is 413 in JSON, and one at the limit is accepted", async (_, hasLength) => {
  await using server = await serve();

  expect(await put(server.port, Buffer.alloc(MOST), hasLength)).toMatchObject({ status: 200 });
  for (const bytes of [MOST + 1, 16 * MOST])
    expect(await put(server.port, Buffer.alloc(bytes), hasLength)).toEqual({
      status: 413,
      type: "application/json",
      body: { errors: [{ reason: texts.bodyTooLarge({ bytes: MOST }).text }] },
    });
});

test("other routes still accept only JSON", async () => {
  await using server = await serve();
  const send = (type: string) =>
    server.app.inject({ method: "PUT", url: "/json", payload: '{"a":1}', headers: { "content-type": type } });

  expect((await send("application/json")).json()).toEqual({ body: { a: 1 } });
  expect((await send("image/png")).statusCode).toBe(400);
});

/** Over a socket: only there it is visible how a body is cut off. */
async function put(port: number, file: Buffer, hasLength: boolean) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const call = request({
    host: "127.0.0.1",
    port,
    method: "PUT",
    path: "/file",
    headers: { "content-type": "image/png", ...(hasLength ? { "content-length": file.length } : {}) },
  });
  call.on("response", resolve);
  call.on("error", reject);
  call.end(file);
  const reply = await promise;
  const body = JSON.parse(Buffer.concat((await reply.toArray()) as Buffer[]).toString()) as unknown;
  return { status: reply.statusCode, type: reply.headers["content-type"], body };
}
