import type { Tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";
import { accountOf, deleteAll } from "./fuzz-account.ts";
import { surely } from "./fuzz-identity.ts";
import { type Account, ADDRESS, CARD, newCompute, newInvoice, owe } from "./money-things.ts";

export type MoneyThings = { invoiceId: number; paymentMethodId: number; paymentId: number; token: string };

/** One of each kind. The card is not the default, so that it can be removed. */
export async function moneyThings({ id, owner }: Account): Promise<MoneyThings> {
  await surely(owner, "PUT", "/v4/account", ADDRESS);
  const methods = "/v4/account/payment-methods";
  await surely(owner, "POST", methods, { type: "credit_card", is_default: false, data: CARD });
  const { data } = await surely<{ data: { id: number }[] }>(owner, "GET", methods);
  const { id: paymentId } = await surely<{ id: number }>(owner, "POST", "/v4/account/payments", { usd: "5.00" });
  const paymentMethodId = data.at(-1)?.id ?? 0;
  return { invoiceId: await newInvoice(id), paymentMethodId, paymentId, token: await offered({ id, owner }) };
}

async function offered({ id, owner }: Pick<Account, "id" | "owner">): Promise<string> {
  const body = { entities: { computes: [await newCompute(id)] } };
  return (await surely<{ token: string }>(owner, "POST", "/v4/account/service-transfers", body)).token;
}

/** Tokens of accounts that the fuzzer does not change otherwise, by the id of the operation that they are for. */
export async function moneyInstead(): Promise<Record<string, string>> {
  // Owes and has no card, so every request to cancel it is refused.
  const debtor = await accountOf("fuzz-debtor");
  await owe(debtor.id, 5);
  // Keeps the billing address that a card needs.
  const holder = await accountOf("fuzz-holder");
  await surely(holder.owner, "PUT", "/v4/account", ADDRESS);
  await deleteAll(holder.owner, "/v4/account/payment-methods", "id", (method) => method["is_default"] !== true);
  return { cancelAccount: debtor.token, addPaymentMethod: holder.token, updateCreditCard: holder.token };
}

export const moneyBodies = (computeId: number): Record<string, { fields: object; named?: string }> => ({
  updateAccount: { fields: { ...ADDRESS, city: "Hamburg", company: "Fuzz" } },
  updateAccountSettings: { fields: { network_helper: true } },
  addPaymentMethod: { fields: { type: "credit_card", is_default: false, data: CARD } },
  updateCreditCard: { fields: CARD },
  createPayment: { fields: { usd: "5.00" } },
  createServiceTransfer: { fields: { entities: { computes: [computeId] } } },
  createEntityTransfer: { fields: { entities: { linodes: [computeId] } } },
});

/** What random input hardly ever gets right, done once in order with separate objects, and counted like the rest. */
export async function aDayOfMoney(owner: Tenant, accountId: number, url: string): Promise<void> {
  const did = <T = object>(method: string, path: string, body?: object): Promise<T> =>
    surely<T>(owner, method, `/v4/account${path}`, body);
  await did("PUT", "", ADDRESS);
  await did("PUT", "/settings", { network_helper: true });
  await did("POST", "/credit-card", CARD);
  await did("POST", "/payment-methods", { type: "credit_card", is_default: false, data: CARD });
  const { data } = await did<{ data: { id: number; is_default: boolean }[] }>("GET", "/payment-methods");
  const [first, other] = [data.find((each) => each.is_default), data.find((each) => !each.is_default)];
  await did("POST", `/payment-methods/${other?.id}/make-default`);
  await did("GET", `/payment-methods/${first?.id}`);
  await did("DELETE", `/payment-methods/${first?.id}`);
  await did("POST", "/payment-methods/link");
  const { id: payment } = await did<{ id: number }>("POST", "/payments", { usd: "5.00" });
  await did("GET", `/payments/${payment}`);
  const invoice = await newInvoice(accountId);
  for (const path of ["", "/items"]) await did("GET", `/invoices/${invoice}${path}`);
  for (const [as, type] of Object.entries({ pdf: "application/pdf", csv: "text/csv" })) {
    const file = await owner.send("GET", `/v4/account/invoices/${invoice}/${as}`);
    if (file.headers.get("content-type") !== type) throw new Error(`The ${as} was answered ${file.status}.`);
  }
  await transfers(owner, accountId, url);
}

/** Under both names: one transfer is withdrawn, one is accepted by an account that is then cancelled. */
async function transfers(owner: Tenant, accountId: number, url: string): Promise<void> {
  for (const name of ["service-transfers", "entity-transfers"]) {
    const path = `/v4/account/${name}`;
    const offer = async () => {
      const body = { entities: { computes: [await newCompute(accountId)] } };
      return `${path}/${(await surely<{ token: string }>(owner, "POST", path, body)).token}`;
    };
    const [withdrawn, taken] = [await offer(), await offer()];
    await surely(owner, "GET", withdrawn);
    await surely(owner, "DELETE", withdrawn);
    const { owner: taker } = await accountOf(unique("fuzz"), url);
    await surely(taker, "POST", `${taken}/accept`);
    await surely(taker, "POST", "/v4/account/cancel", { comments: "Only here for a day." });
  }
}
