import { randomUUID } from "node:crypto";
import { until } from "@moorage/testkit/until.ts";
import { beforeAll, expect, test } from "vitest";
import { arm, disarm, fired } from "../faults/crash-dir.ts";
import { startApi } from "../kit/api-process.ts";
import { allowDeletions, moorage } from "../kit/moorage.ts";
import { operator } from "../kit/operator.ts";
import { query } from "../kit/records.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";
import { refusedByMessage, type Revoked } from "../kit/revoked.ts";

const alice = tenant();
const few = (perSeconds: number) => ({ MOORAGE_RATE_LIMITS: "1", MOORAGE_RATE_SINGLE: `10/${perSeconds}` });
const PATIENCE_MS = 600_000;

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
  // GCRA gives one back after six minutes.
  await using first = await startApi(few(3600));
  await using second = await startApi(few(3600));
  let atSecond: number[] = [];
  // A process that waits too long for Valkey, as on a busy machine, counts by itself: then again, with another token.
  for (const deadline = Date.now() + PATIENCE_MS; !atSecond.includes(429) && Date.now() < deadline; ) {
    const [token] = await newToken("limits");
    const statuses = async (url: string, count: number) => {
      const found = [];
      for (let n = 0; n < count; n++) found.push((await tenant(token, url).view(1)).status);
      return found;
    };
    expect(await statuses(first.url, 10)).not.toContain(429);
    // By itself it would allow one more.
    atSecond = await statuses(second.url, 9);
  }
  expect(atSecond).toContain(429);

  const anonymous = async (url: string, address: string) =>
    (await fetch(`${url}/v4/regions/eu-central`, { headers: { "x-forwarded-for": address } })).status;
  await using untrusting = await startApi({ ...few(60), MOORAGE_TRUSTED_PROXIES: "192.0.2.1" });
  const forged: number[] = [];
  // Ten at once, and one more every six seconds.
  for (let n = 0; n < 99 && !forged.includes(429); n++) forged.push(await anonymous(untrusting.url, `203.0.113.${n}`));
  expect(forged).toContain(429);
});

test("two processes learn of a token that the operator revokes", async () => {
  await using second = await startApi();
  const revokedBy = async (revoke: (account: string, id: string) => Promise<unknown>): Promise<Revoked> => {
    const [token, [account = "", id = ""]] = await newToken("revoked");
    const apis = [tenant(token), tenant(token, second.url)];
    const statuses = async () =>
      (await Promise.all(apis.map((api) => api.call("GET", "/v4/account/events")))).map(({ status }) => status);
    const cachedAt = Date.now();
    expect(await statuses()).toEqual([200, 200]);
    await revoke(account, id);
    return { cachedAt, isRefused: async () => (await statuses()).every((status) => status === 401) };
  };
  const { isRefused } = await revokedBy((account, id) => moorage("token", "revoke", account, id));
  await until("it is refused by both", 60, isRefused);
  // On a busy machine the command line starts for longer than a token is cached.
  await refusedByMessage("it is refused by both", () =>
    revokedBy((account, id) => operator(`/admin/accounts/${account}/tokens/${id}/revoke`, {})),
  );
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
