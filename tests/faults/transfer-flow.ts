import { createHash } from "node:crypto";
import type { EntityTransfer } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import { operator } from "../kit/operator.ts";
import { query } from "../kit/records.ts";
import { env } from "../kit/stack-env.ts";
import { type Tenant, tenant } from "../kit/tenant.ts";

const TRANSFERS = "/v4/account/service-transfers";

/** A compute instance that one account offers to another. */
export type Offer = { compute: number; token: string; receiver: Tenant; receiverAccount: number };

export async function offerACompute(alice: Tenant, label: string): Promise<Offer> {
  const { id: compute } = await operator<{ id: number }>(`/admin/accounts/${await ownAccount()}/computes`, {
    label,
    region: env("MOORAGE_REGION"),
  });
  const { status, body } = await alice.call<EntityTransfer>("POST", TRANSFERS, { entities: { computes: [compute] } });
  if (status !== 200) throw new Error(`the offer was refused: ${status} ${JSON.stringify(body)}`);
  return { compute, token: body.token, ...(await aReceiver()) };
}

export const ownAccount = async (): Promise<number> => {
  const sha256 = createHash("sha256").update(env("MOORAGE_TOKEN")).digest();
  const [row] = await query<{ account_id: number }>("select account_id from tokens where sha256 = $1", [sha256]);
  return Number(row?.account_id);
};

/** The same account each time, with a new token: a token may accept two transfers in a minute. */
async function aReceiver(): Promise<Pick<Offer, "receiver" | "receiverAccount">> {
  const email = "receiver@drills.example";
  const { id } = await operator<{ id: number }>("/admin/accounts", {
    company: "Receiver of drills",
    email,
    limits: { databases: 1, nodes: 1, memory_mb: 1024, disk_mb: 10_240 },
  });
  const users = `/admin/accounts/${id}/users`;
  await operator(users, { username: "drill-receiver", email, restricted: false });
  const token = { label: "drill", scopes: ["*"] };
  const issued = await operator<{ token: string }>(`${users}/drill-receiver/tokens`, token);
  return { receiver: tenant(issued.token), receiverAccount: id };
}

/** Repeats the request while the transfer is pending; then waits until the instance has been handed over, once. */
export async function acceptSurely({ compute, token, receiver, receiverAccount }: Offer): Promise<void> {
  const path = `${TRANSFERS}/${token}`;
  const status = async () => {
    const { status: code, body } = await receiver.call<EntityTransfer>("GET", path);
    // While `api` starts again, the front answers for it.
    if (code !== 200) throw new Error(`the transfer is answered ${code}`);
    return body.status;
  };
  await until("the transfer is accepted", 60, async () => {
    if ((await status()) !== "pending") return true;
    // Whatever the answer: an acceptance whose answer was lost shows in the status.
    await receiver.call("POST", `${path}/accept`).catch(() => undefined);
    return false;
  });
  await until("the transfer is completed", 120, async () => (await status()) === "completed");
  const rows = await query<{ account_id: number }>("select account_id from computes where id = $1", [compute]);
  if (Number(rows[0]?.account_id) !== receiverAccount) throw new Error("it is completed, and not the receiver's");
  const events = await receiver.call<{ data: { entity: { id: string } }[] }>("GET", "/v4/account/events");
  const eventCount = events.body.data.filter(({ entity }) => entity.id === token).length;
  if (eventCount !== 1) throw new Error(`one acceptance has ${eventCount} events`);
}
