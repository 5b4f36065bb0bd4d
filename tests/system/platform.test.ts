import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { arm, disarm, fired } from "../faults/crash-dir.ts";
import { startApi } from "../kit/api-process.ts";
import { allowDeletions, moorage } from "../kit/moorage.ts";
import { query } from "../kit/records.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";
import { refusedByMessage } from "../kit/revoked.ts";
import { until } from "../kit/until.ts";

const alice = tenant();
const few = { MOORAGE_RATE_LIMITS: "1", MOORAGE_RATE_SINGLE: "10/60" };

beforeAll(() => allowDeletions(100));

test("the same create sent 50 times at once with one key makes one database and gets 50 equal answers", async () => {
  const [label, key] = [unique("once"), randomUUID()];
  const replies = await Promise.all(Array.from({ length: 50 }, () => alice.create(label, key)));
  expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).toBe(1);
  expect(replies[0]).toMatchObject({ status: 200, body: { label } });
  expect((await alice.list()).filter((database) => database.label === label)).toHaveLength(1);
  expect(await alice.create(unique("other"), key)).toMatchObject({
    status: 400,
    body: { errors: [{ field: "Idempotency-Key" }] },
  });
  await remove(replies[0]?.body.id ?? 0);
});

test("a repeated create whose answer was lost with its process is answered, not executed again", async () => {
  const [label, key] = [unique("lost"), randomUUID()];
  arm({ step: "api.createMysqlDatabase", mode: "kill-after" });
  await expect(
    alice.create(label, key).then(
      ({ status }) => status,
      () => 0,
    ),
  ).resolves.not.toBe(200);
  await until("the process was killed", 10, async () => fired());
  disarm();
  const repeated = await until("the API is back", 30, async () => {
    const reply = await alice.create(label, key);
    return reply.status === 200 && reply;
  });
  expect((await alice.list()).filter((database) => database.label === label).map(({ id }) => id)).toEqual([
    repeated.body.id,
  ]);
  await remove(repeated.body.id);
});

test("two processes share the limits, and a forged address does not bypass them", async () => {
  await using first = await startApi(few);
  await using second = await startApi(few);
  const [token] = await newToken("limits");
  const statusAt = async (url: string) => (await tenant(token, url).view(1)).status;
  const statuses = [];
  for (let n = 0; n < 10; n++) statuses.push(await statusAt(first.url));
  expect(statuses).not.toContain(429);
  // GCRA gives a little back meanwhile.
  const refused = [await statusAt(second.url), await statusAt(second.url), await statusAt(second.url)];
  expect(refused).toContain(429);

  const anonymous = async (url: string, address: string) =>
    (await fetch(`${url}/v4/regions/eu-central`, { headers: { "x-forwarded-for": address } })).status;
  await using untrusting = await startApi({ ...few, MOORAGE_TRUSTED_PROXIES: "192.0.2.1" });
  const forged = [];
  for (let n = 0; n < 20; n++) forged.push(await anonymous(untrusting.url, `203.0.113.${n}`));
  expect(forged).toContain(429);
});

test("two processes learn of a token that the operator revokes", async () => {
  await using second = await startApi();
  const [token, id] = await newToken("revoked");
  const apis = [tenant(token), tenant(token, second.url)];
  for (const api of apis) expect((await api.call("GET", "/v4/account/events")).status).toBe(200);
  await moorage("token", "revoke", ...id);
  await refusedByMessage("it is refused by both", async () => {
    const replies = await Promise.all(apis.map((api) => api.call("GET", "/v4/account/events")));
    return replies.every(({ status }) => status === 401);
  });
});

/** A token of the stack's own user, created by the operator. */
async function newToken(label: string): Promise<[string, string[]]> {
  const [user] = await query<{ account_id: number; username: string }>(
    "select account_id, username from users where username = 'baker'",
  );
  const path = `/admin/accounts/${user?.account_id}/users/${user?.username}/tokens`;
  const reply = await fetch(new URL(path, env("MOORAGE_ADMIN_URL")), {
    method: "POST",
    headers: { authorization: `Bearer ${env("MOORAGE_OPERATOR_TOKEN")}`, "content-type": "application/json" },
    body: JSON.stringify({ label, scopes: ["*"] }),
  });
  const { token, id } = (await reply.json()) as { token: string; id: number };
  return [token, [String(user?.account_id), String(id)]];
}

async function remove(id: number): Promise<void> {
  await alice.untilStatus(id, "active", 120);
  await alice.deleteSurely(id);
  await alice.untilEvent(id, "database_delete");
}
