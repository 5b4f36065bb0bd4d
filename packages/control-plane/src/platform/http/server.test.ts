import { once } from "node:events";
import { connect } from "node:net";
import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { DomainError } from "#platform/errors.ts";
import { TooManyRequests } from "#platform/limits/caller.ts";
import { createLog } from "#platform/log.ts";
import { Replayed } from "./idempotency.ts";
import { createServer } from "./server.ts";
import { texts } from "./texts.ts";

const quiet = createLog("test", "silent");

const newApp = (options: Parameters<typeof createServer>[1] = {}, log = quiet) => {
  const app = createServer(log, options);
  app.get("/v4/things", async () => ({ data: [] }));
  app.post("/v4/things", async (request) => ({ body: request.body ?? "none", ip: request.ip }));
  app.get("/v4/things/:id", async (request) => request.params);
  app.delete("/v4/things/:id", async () => ({}));
  onTestFinished(() => app.close());
  return app;
};

const reasonsOf = (body: string): string[] =>
  (JSON.parse(body) as { errors: { reason: string }[] }).errors.map(({ reason }) => reason);

test.each([
  ["PATCH", "/v4/things", "GET, HEAD, OPTIONS, POST"],
  ["POST", "/v4/things/7?page=1", "DELETE, GET, HEAD, OPTIONS"],
  ["PROPFIND", "/v4beta//things/mysql%2F9", "DELETE, GET, HEAD, OPTIONS"],
])("%s %s is 405 and lists the allowed methods", async (method, url, allow) => {
  const reply = await newApp().inject({ method: method as "PATCH", url });

  expect(reply.statusCode).toBe(405);
  expect(reply.headers).toMatchObject({ allow, "content-type": "application/json" });
  expect(reasonsOf(reply.body)).toEqual([texts.methodNotAllowed({ method, allowed: allow.split(", ") }).text]);
});

test("OPTIONS of a path is 204 with its methods, and 404 for an unknown path", async () => {
  const app = newApp();

  expect(await app.inject({ method: "OPTIONS", url: "/v4/things" })).toMatchObject({ statusCode: 204, body: "" });
  expect(await app.inject({ method: "OPTIONS", url: "/v4/nothing" })).toMatchObject({ statusCode: 404 });
});

test("HEAD answers as GET, without the body", async () => {
  const reply = await newApp().inject({ method: "HEAD", url: "/v4/things" });

  expect(reply).toMatchObject({ statusCode: 200, body: "" });
  expect(reply.headers["content-length"]).toBe("11");
});

test.each([
  [400, "GET", "/v4/%zz", undefined],
  [400, "GET", "/v4/things/%E0%A4%A", undefined],
  [404, "GET", `/v4/things/${"9".repeat(300)}`, undefined],
  [400, "POST", "/v4/things", '{"a":'],
  [400, "POST", "/v4/things", '{"a": {"__proto__": {"admin": true}}}'],
  [400, "POST", "/v4/things", '{"constructor": {"prototype": {"admin": true}}}'],
  [400, "POST", "/v4/things", '{"\\u005f_proto__": {}}'],
  [413, "POST", "/v4/things", JSON.stringify("x".repeat(1024 * 1024))],
])("%i in JSON: %s %s", async (status, method, url, payload) => {
  const reply = await newApp().inject({
    method: method as "POST",
    url,
    ...(payload === undefined ? {} : { payload, headers: { "content-type": "application/json" } }),
  });

  expect(reply.statusCode).toBe(status);
  expect(reply.headers["content-type"]).toBe("application/json");
  expect(reasonsOf(reply.body)).toHaveLength(1);
});

test.each(["application/json", "application/x-www-form-urlencoded", "text/plain"])(
  "an empty body sent as %s is no body",
  async (type) => {
    const reply = await newApp().inject({ method: "POST", url: "/v4/things", headers: { "content-type": type } });

    expect(reply.json()).toMatchObject({ body: "none" });
  },
);

async function sendBytes(bytes: string): Promise<string> {
  const app = newApp();
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  if (typeof address !== "object" || address === null) throw new Error("no address");
  const socket = connect(address.port, "127.0.0.1");
  let answer = "";
  socket.on("data", (data) => {
    answer += String(data);
  });
  socket.on("error", () => {});
  socket.write(bytes);
  await once(socket, "close");
  return answer;
}

test.each([
  ["431", `GET /v4/things HTTP/1.1\r\nHost: a\r\nX-Filter: ${"x".repeat(20_000)}\r\n\r\n`],
  ["400", "NONSENSE\r\n\r\n"],
  ["400", "GET /v4/things HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"],
])("bytes that are no request are answered %s in JSON", async (status, bytes) => {
  const [head = "", body = ""] = (await sendBytes(bytes)).split("\r\n\r\n");

  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(head).toContain("Content-Type: application/json");
  expect(reasonsOf(body)).toHaveLength(1);
});

test("a request has an id: the caller's own, or a new one if that could forge a log line", async () => {
  const app = newApp();
  const idOf = async (given?: string) =>
    (await app.inject({ url: "/v4/things", headers: given === undefined ? {} : { "x-request-id": given } })).headers[
      "x-request-id"
    ];

  expect(await idOf("abc-1")).toBe("abc-1");
  expect(await idOf()).toMatch(/^[0-9a-f-]{36}$/);
  expect(await idOf('x"} {')).toMatch(/^[0-9a-f-]{36}$/);
  expect(await idOf("x".repeat(200))).toMatch(/^[0-9a-f-]{36}$/);
});

function newRecordingLog() {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  return { lines, log: pino({ level: "info" }, sink) };
}

test("a request is one line in the log, without its headers and query", async () => {
  const { lines, log } = newRecordingLog();
  const app = newApp({}, log);

  await app.inject({
    url: "/v4/things/7?access_token=hidden",
    headers: { authorization: "Bearer hidden", "idempotency-key": "hidden", "x-request-id": "r1" },
  });

  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain("hidden");
  const line = { reqId: "r1", method: "GET", path: "/v4/things/7", route: "/v4/things/:id", status: 200 };
  expect(JSON.parse(lines[0] ?? "")).toMatchObject(line);
  expect(JSON.parse(lines[0] ?? "")).not.toHaveProperty("codes");
});

test("the line of a refused request has the codes of its errors, never their texts", async () => {
  const { lines, log } = newRecordingLog();
  const app = newApp({}, log);
  app.get("/v4/refused", async () => {
    throw new DomainError(
      "invalid",
      { field: "label", reason: { code: "database.label_taken", text: "prose" } },
      { reason: { code: "limit.nodes", text: "prose" } },
    );
  });
  app.get("/v4/limited", async () => {
    throw new TooManyRequests();
  });

  const refused = await app.inject({ url: "/v4/refused" });
  for (const url of ["/v4/limited", "/v4/nothing"]) await app.inject({ url });

  expect(refused.json()).toEqual({ errors: [{ field: "label", reason: "prose" }, { reason: "prose" }] });
  expect(lines.map((line) => (JSON.parse(line) as { codes: string[] }).codes)).toEqual([
    ["database.label_taken", "limit.nodes"],
    ["limit.too_many_requests"],
    ["request.not_found"],
  ]);
  expect(lines.join()).not.toContain("prose");
});

test("the caller's address is the socket's, whatever a header contains, except behind a trusted proxy", async () => {
  const send = async (trustProxy: string[] | false, remoteAddress: string) => {
    const headers = { "x-forwarded-for": "198.51.100.1, 203.0.113.7" };
    const reply = await newApp({ trustProxy }).inject({ method: "POST", url: "/v4/things", headers, remoteAddress });
    return reply.json<{ ip: string }>().ip;
  };

  expect(await send(false, "192.0.2.1")).toBe("192.0.2.1");
  expect(await send(["10.0.0.0/8"], "192.0.2.1")).toBe("192.0.2.1");
  // The address that the proxy itself saw comes last; the caller may have forged the rest.
  expect(await send(["10.0.0.0/8"], "10.0.0.9")).toBe("203.0.113.7");
});

test("a body of more values than any valid one has is refused", async () => {
  const send = (values: number) =>
    newApp().inject({
      method: "POST",
      url: "/v4/things",
      payload: { list: Array.from({ length: values - 2 }, () => 1) },
    });

  expect((await send(25_000)).statusCode).toBe(200);
  const refused = await send(25_001);
  expect(refused.statusCode).toBe(400);
  expect(reasonsOf(refused.body)).toEqual([texts.bodyTooManyValues({ most: 25_000 }).text]);
});

test("domain errors are answered by kind", async () => {
  const app = newApp();
  const thrown: Record<string, () => Error> = {
    away: () => new DomainError("unavailable", { reason: { code: "operator.recovering", text: "Recovering" } }),
    limited: () => new TooManyRequests(),
    again: () => new Replayed('{"id":7}'),
    bug: () => new Error("secret detail"),
  };
  app.get("/throw/:what", async (request) => {
    throw (thrown[(request.params as { what: string }).what] as () => Error)();
  });
  const get = async (what: string) => {
    const { statusCode, body, headers } = await app.inject({ url: `/throw/${what}` });
    return { status: statusCode, body, retryAfter: headers["retry-after"], type: headers["content-type"] };
  };

  expect(await get("away")).toMatchObject({ status: 503, retryAfter: "5" });
  expect(await get("limited")).toMatchObject({ status: 429, body: '{"errors":[{"reason":"Too many requests"}]}' });
  expect(await get("again")).toMatchObject({ status: 200, body: '{"id":7}', type: "application/json" });
  expect((await get("bug")).body).not.toContain("secret");
});

test("a body that no route takes is not read, and routes of another server are known", async () => {
  const seen: string[] = [];
  const app = createServer(
    quiet,
    {},
    {
      elsewhere: [
        { method: "POST", path: "/v4/secret" },
        { method: "GET", path: "/v4/secret" },
      ],
    },
  );
  app.addHook("preValidation", async ({ url, body }) => void seen.push(`${url} ${JSON.stringify(body)}`));
  app.put("/v4/secret", async () => ({}));
  onTestFinished(() => app.close());
  const send = (method: "POST" | "PUT" | "PATCH" | "OPTIONS", url: string) =>
    app.inject({ method, url, headers: { "content-type": "application/json" }, payload: '{"number":1}' });

  expect((await send("POST", "/v4/secret")).statusCode).toBe(404);
  expect((await send("POST", "/v4/nothing")).statusCode).toBe(404);
  const patched = await send("PATCH", "/v4/secret");
  expect(patched.statusCode).toBe(405);
  expect(patched.headers["allow"]).toBe("GET, HEAD, OPTIONS, POST, PUT");
  expect((await send("OPTIONS", "/v4/secret")).statusCode).toBe(204);
  expect(seen).toEqual([]);
  expect((await send("PUT", "/v4/secret")).statusCode).toBe(200);
  expect(seen).toEqual(['/v4/secret {"number":1}']);
});
