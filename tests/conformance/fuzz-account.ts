import { until } from "@moorage/testkit/until.ts";
import { operator } from "../kit/operator.ts";
import { type Tenant, tenant } from "../kit/tenant.ts";

const LIMITS = { databases: 3, nodes: 3, memory_mb: 3 * 1024, disk_mb: 3 * 10_240 };

export type FuzzAccount = AsyncDisposable & { id: number; token: string; owner: Tenant };

/** An account that is limited to three databases, and whose users are never invited; emptied before and after. */
export async function fuzzAccount(): Promise<FuzzAccount> {
  const account = await accountOf("fuzz");
  const { owner, token } = account;
  await empty(owner, token);
  return { ...account, [Symbol.asyncDispose]: () => empty(owner, token) };
}

/** Reuses an existing account, which is found by the email address that the operator knows. */
export async function accountOf(name: string, url?: string): Promise<{ id: number; token: string; owner: Tenant }> {
  const email = `owner@${name}.test`;
  const { id } = await operator<{ id: number }>("/admin/accounts", { company: "Fuzz", email, limits: LIMITS });
  const users = `/admin/accounts/${id}/users`;
  await operator(users, { username: name, email, restricted: false });
  const newToken = { label: "conformance", scopes: ["*"] };
  const { token } = await operator<{ token: string }>(`${users}/${name}/tokens`, newToken);
  return { id, token, owner: tenant(token, url) };
}

async function empty(owner: Tenant, token: string): Promise<void> {
  await emptyIdentity(owner, token);
  await deleteAll(owner, "/v4/images", "id", (image) => image["is_public"] === false);
  await deleteAll(owner, "/v4/account/payment-methods", "id", (method) => method["is_default"] !== true);
  await until("the fuzz account has no database", 180, async () => {
    const left = await owner.list();
    for (const { id, status } of left) {
      if (status === "active" || status === "failed") await owner.delete(id);
      if (status === "suspended") await owner.act(id, "resume");
    }
    return left.length === 0;
  });
}

/** Removes every other user, and every other app and token than the one in use. */
async function emptyIdentity(owner: Tenant, token: string): Promise<void> {
  const { username } = (await owner.call<{ username: string }>("GET", "/v4/profile")).body;
  await deleteAll(owner, "/v4/account/users", "username", (user) => user["username"] !== username);
  await deleteAll(owner, "/v4/account/oauth-clients", "id", () => true);
  await deleteAll(owner, "/v4/profile/tokens", "id", (each) => each["token"] !== token.slice(0, 16));
}

type Item = Record<string, unknown>;

export async function deleteAll(
  owner: Tenant,
  path: string,
  name: string,
  which: (item: Item) => boolean,
): Promise<void> {
  const { body } = await owner.call<{ data: Item[] }>("GET", `${path}?page_size=500`);
  for (const item of body.data.filter(which))
    await owner.call("DELETE", `${path}/${encodeURIComponent(String(item[name]))}`);
}
