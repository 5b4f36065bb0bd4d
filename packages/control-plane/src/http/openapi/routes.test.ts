import { createHash } from "node:crypto";
import { operations } from "@moorage/contract";
import { expect, test } from "vitest";
import { createServer } from "#platform/http/server.ts";
import { createLog } from "#platform/log.ts";
import { openapiRoutes } from "./routes.ts";

const newApp = () => {
  const app = createServer(createLog("test", "silent"));
  openapiRoutes(app);
  return app;
};

type Content = Record<string, { schema: object }>;
type Filter = { properties: Record<string, { enum?: string[] }> };
type Described = {
  operationId: string;
  description: string;
  security: object[];
  parameters: { name: string; content: Content }[];
  deprecated?: boolean;
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content; description?: string }>;
};
type Document = {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Described>>;
};

test("the document is served with the published version and every operation", async () => {
  await using app = newApp();

  const reply = await app.inject("/v4/openapi.json");
  const { openapi, info, paths } = reply.json<Document>();

  expect(reply.headers["content-type"]).toBe("application/json");
  expect([openapi, info.version]).toEqual(["3.1.1", "4.174.0"]);
  const ids = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
  const published = operations.flatMap(({ id, former }) => (former === undefined ? [id] : [id, former.id]));
  expect(ids.toSorted()).toEqual(published.toSorted());
});

test("every reference resolves", async () => {
  await using app = newApp();

  const { payload } = await app.inject("/v4/openapi.json");
  const document = JSON.parse(payload) as Record<string, unknown>;
  const lost = [...payload.matchAll(/"\$ref":"#\/([^"]+)"/g)]
    .map(([, path = ""]) => path)
    .filter(
      (path) =>
        path.split("/").reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document) === undefined,
    );

  expect(lost).toEqual([]);
});

test("files, and responses without a body, are described as on the wire", async () => {
  await using app = newApp();

  const { paths } = (await app.inject("/v4/openapi.json")).json<Document>();
  const thumbnail = paths["/v4/account/oauth-clients/{clientId}/thumbnail"];
  const grants = paths["/v4/profile/grants"]?.["get"]?.responses;

  expect(Object.keys(thumbnail?.["put"]?.requestBody?.content ?? {})).toEqual(["image/png", "image/jpeg", "image/gif"]);
  expect(thumbnail?.["put"]?.requestBody?.content["image/png"]?.schema).toMatchObject({ maxLength: 1024 * 1024 });
  expect(thumbnail?.["get"]?.responses["200"]?.content).toEqual({
    "image/png": { schema: { type: "string", format: "binary" } },
  });
  expect(grants?.["204"]).toBeDefined();
  expect(grants?.["204"]).not.toHaveProperty("content");
  expect(grants?.["200"]?.content).toHaveProperty("application/json");
  const invoice = "/v4/account/invoices/{invoiceId}";
  for (const [as, type] of Object.entries({ pdf: "application/pdf", csv: "text/csv" }))
    expect(Object.keys(paths[`${invoice}/${as}`]?.["get"]?.responses["200"]?.content ?? {})).toEqual([type]);
});

test("deprecated operations are marked, and conflicts are described where they can occur", async () => {
  await using app = newApp();

  const { paths } = (await app.inject("/v4/openapi.json")).json<Document>();
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).map((each) => ({ path, each })),
  );

  expect(
    all
      .filter(({ each }) => each.deprecated === true)
      .map(({ each }) => each.operationId)
      .toSorted(),
  ).toEqual([
    "acceptEntityTransfer",
    "cancelEntityTransfer",
    "createEntityTransfer",
    "listEntityTransfers",
    "updateCreditCard",
    "viewEntityTransfer",
  ]);
  expect(all.filter(({ each }) => "409" in each.responses).map(({ path }) => path)).toEqual(["/v4/account/cancel"]);
  expect(paths["/v4/account/cancel"]?.["post"]?.responses["409"]?.description).toContain("nothing has changed");
});

test("optional scopes are documented, and fields that cannot be sorted by are not offered for it", async () => {
  await using app = newApp();

  const { paths } = (await app.inject("/v4/openapi.json")).json<Document>();
  const list = paths["/v4/images"]?.["get"];
  const filter = list?.parameters.find(({ name }) => name === "X-Filter");
  const described = filter?.content["application/json"]?.schema as Filter | undefined;

  expect(list?.security).toEqual([{}, { token: ["images:read_only"] }]);
  expect(list?.description).toContain("must carry `images:read_only`");
  expect(list?.description).toContain("20 a minute");
  expect(described?.properties).toHaveProperty("status");
  expect(described?.properties["+order_by"]?.enum).not.toContain("status");
  expect(paths["/v4/images/upload"]?.["post"]?.description).toContain("Content-type: application/octet-stream");
});

// Readers enter their tokens on this page.
test("the page loads nothing from other origins, and runs no script but its own", async () => {
  await using app = newApp();

  const page = await app.inject("/docs/");
  const script = await app.inject("/docs/js/scalar.js");
  const sources = [...page.payload.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source);
  const inline = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(page.payload)?.[1] ?? "";

  expect((await app.inject("/docs")).headers["location"]).toBe("/docs/");
  expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(sources).toEqual(["js/scalar.js"]);
  expect(inline).toContain('"/v4/openapi.json"');
  expect(page.headers["content-security-policy"]).toContain(
    `script-src 'self' 'sha256-${createHash("sha256").update(inline).digest("base64")}'`,
  );
  expect(script.headers["content-type"]).toBe("text/javascript; charset=utf-8");
  expect(script.payload.length).toBeGreaterThan(1_000_000);
});
