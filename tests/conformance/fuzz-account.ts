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

export type FuzzAccount = AsyncDisposable & { token: string; owner: Tenant };

/** An account that can do no more harm than three databases; emptied before and after. */
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
  await empty(owner);
  return { token, owner, [Symbol.asyncDispose]: () => empty(owner) };
}

async function empty(owner: Tenant): Promise<void> {
  await until("the fuzz account has no database", 180, async () => {
    const left = await owner.list();
    for (const { id, status } of left) {
      if (status === "active" || status === "failed") await owner.delete(id);
      if (status === "suspended") await owner.act(id, "resume");
    }
    return left.length === 0;
  });
}
