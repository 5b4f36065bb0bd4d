import { env } from "../kit/stack-env.ts";
import { type Tenant, tenant } from "../kit/tenant.ts";
import { until } from "../kit/until.ts";

const LIMITS = { databases: 3, nodes: 3, memory_mb: 3 * 1024, disk_mb: 3 * 10_240 };

async function admin<T>(path: string, body: object): Promise<T> {
  const reply = await fetch(new URL(path, env("MOORAGE_ADMIN_URL")), {
    method: "POST",
    headers: { authorization: `Bearer ${env("MOORAGE_OPERATOR_TOKEN")}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!reply.ok) throw new Error(`${path} was answered ${reply.status}: ${await reply.text()}`);
  return (await reply.json()) as T;
}

export type FuzzAccount = AsyncDisposable & { id: number; token: string; owner: Tenant };

/** An account that can do no more harm than three databases, and users who are never let in; emptied before and after. */
export async function fuzzAccount(): Promise<FuzzAccount> {
  const { id } = await admin<{ id: number }>("/admin/accounts", {
    company: "Fuzz",
    email: "owner@fuzz.test",
    limits: LIMITS,
  });
  const users = `/admin/accounts/${id}/users`;
  await admin(users, { username: "fuzz", email: "owner@fuzz.test", restricted: false });
  const { token } = await admin<{ token: string }>(`${users}/fuzz/tokens`, { label: "conformance", scopes: ["*"] });
  const owner = tenant(token);
  await empty(owner, token);
  return { id, token, owner, [Symbol.asyncDispose]: () => empty(owner, token) };
}

async function empty(owner: Tenant, token: string): Promise<void> {
  await emptyIdentity(owner, token);
  await until("the fuzz account has no database", 180, async () => {
    const left = await owner.list();
    for (const { id, status } of left) {
      if (status === "active" || status === "failed") await owner.delete(id);
      if (status === "suspended") await owner.act(id, "resume");
    }
    return left.length === 0;
  });
}

/** Everybody but the one who acts, and every app and token but the one that is used. */
async function emptyIdentity(owner: Tenant, token: string): Promise<void> {
  const { username } = (await owner.call<{ username: string }>("GET", "/v4/profile")).body;
  await deleteAll(owner, "/v4/account/users", "username", (user) => user["username"] !== username);
  await deleteAll(owner, "/v4/account/oauth-clients", "id", () => true);
  await deleteAll(owner, "/v4/profile/tokens", "id", (each) => each["token"] !== token.slice(0, 16));
}

type Item = Record<string, unknown>;

async function deleteAll(owner: Tenant, path: string, name: string, which: (item: Item) => boolean): Promise<void> {
  const { body } = await owner.call<{ data: Item[] }>("GET", `${path}?page_size=500`);
  for (const item of body.data.filter(which)) await owner.call("DELETE", `${path}/${String(item[name])}`);
}
