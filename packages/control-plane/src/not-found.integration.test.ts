import { expect, test } from "vitest";
import { newWorld, PUBLIC_URL } from "#testing/world.ts";

const MYSQL = "/v4/databases/mysql/instances";
const DOCS = `The interface is documented at ${PUBLIC_URL}/docs.`;
const METRICS = "connections, threads_running, queries, slow_queries";

test.each([
  ["/", "there is no such path. All paths begin with /v4.", DOCS],
  ["/databases/mysql/instances", "there is no such path. All paths begin with /v4.", DOCS],
  ["/v4/database/mysql", "/v4 can be followed by: account, compute, databases, images", DOCS],
  ["/v4/databases/mysql", "/v4/databases/mysql can be followed by: instances.", DOCS],
  [`${MYSQL}/7/backup`, "/v4/databases/mysql/instances/{instanceId} can be followed by: backups, credentials", DOCS],
  ["/v4/databases/postgresql/instances", "Only MySQL is offered: use /v4/databases/mysql.", DOCS],
  [`${MYSQL}/4711`, "there is no database 4711.", `GET ${MYSQL} lists what there is.`],
  [`${MYSQL}/tn-orders`, "there is no database tn-orders.", "The id of a database is a number."],
  [`${MYSQL}/4711/ssl`, "there is no database 4711.", `GET ${MYSQL} lists what there is.`],
  [
    `${MYSQL}/7/backups/9`,
    "there is no backup 9 of database 7.",
    `GET ${MYSQL}/{instanceId}/backups lists what there is.`,
  ],
  [`${MYSQL}/7/metrics/cpu`, "there is no metric cpu of database 7.", `Possible: ${METRICS}`],
  ["/v4/regions/mars", "there is no region mars.", "GET /v4/regions lists what there is."],
  [
    "/v4/databases/engines/mysql/5.7",
    "there is no engine mysql/5.7.",
    "GET /v4/databases/engines lists what there is.",
  ],
  ["/v4/account/users/nobody", "there is no user nobody.", "GET /v4/account/users lists what there is."],
  ["/v4/images/private/12", "there is no image private/12.", "GET /v4/images lists what there is."],
  [`${MYSQL}/7/metrics/${"x".repeat(90)}`, "there is no such metric of database 7.", `Possible: ${METRICS}`],
  ["/v4/account/service-transfers/nothing", "there is no such transfer.", "GET /v4/account/service-transfers lists"],
])("GET %s answers what was not found, and what exists", async (path, what, hint) => {
  await using world = await newWorld();
  const alice = await world.customer();

  const { status, body } = await alice.get<{ errors: { reason: string }[] }>(path);

  expect([status, body.errors.length]).toEqual([404, 1]);
  expect(body.errors[0]?.reason).toMatch(/^Not found: there is no /);
  expect(body.errors[0]?.reason).toContain(what);
  expect(body.errors[0]?.reason).toContain(hint);
});
