import { randomUUID } from "node:crypto";
import { REGION, type World } from "../../packages/control-plane/src/testing/world.ts";

const CENT = 10_000;
const DOLLAR = 1_000_000;
let made = 0;

/** A final invoice of a separate month, with one line, as a month end would leave it. */
export async function newInvoice({ db, time }: World, accountId: number): Promise<number> {
  const from = new Date(Date.UTC(2010, ++made, 1));
  const until = new Date(Date.UTC(2010, made + 1, 1));
  const month = from.toISOString().slice(0, 10);
  const sums = { tax_micros: 2 * DOLLAR, total_micros: 12 * DOLLAR };
  const { id } = await db
    .insertInto("invoices")
    .values({
      account_id: accountId,
      month,
      label: `Invoice of ${month}`,
      until,
      created_at: time.now,
      billing_source: "operator",
      ...sums,
      subtotal_micros: 10 * DOLLAR,
      bill_to: JSON.stringify(BILL_TO) as never,
      tax_summary: JSON.stringify([{ name: "VAT", tax_micros: 2 * DOLLAR }]) as never,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await db
    .insertInto("invoice_items")
    .values({
      account_id: accountId,
      invoice_id: id,
      ordinal: 1,
      label: "A database",
      type: "hourly",
      region: REGION,
      from_at: from,
      to_at: until,
      quantity: 500,
      unit_price_micros: 2 * CENT,
      ...sums,
      amount_micros: 10 * DOLLAR,
      resource_type: "database",
      resource_id: 1,
    })
    .execute();
  return id;
}
const BILL_TO = {
  company: "Harbour Bakery",
  first_name: "Nia",
  last_name: "Okafor",
  email: "owner@test.example",
  tax_id: "",
  address_1: "Am Hafen 1",
  address_2: "",
  city: "Hamburg",
  state: "",
  zip: "20457",
  country: "DE",
  phone: "",
};

/** A card that is not the default, so that it can be removed. */
export async function newPaymentMethod({ db, time }: World, accountId: number): Promise<number> {
  const row = db
    .insertInto("payment_methods")
    .values({
      account_id: accountId,
      provider_token: `pm_${randomUUID()}`,
      card_type: "Visa",
      last_four: "4242",
      expiry_month: 12,
      expiry_year: 2049,
      is_default: false,
      created_at: time.now,
      deleted_at: null,
    })
    .returning("id");
  return (await row.executeTakeFirstOrThrow()).id;
}

/** A payment, with its charge. */
export async function newPayment(world: World, accountId: number): Promise<number> {
  const { db, time } = world;
  const method = await newPaymentMethod(world, accountId);
  const charge = await db
    .insertInto("charges")
    .values({
      account_id: accountId,
      purpose: "payment",
      amount_micros: 12 * DOLLAR,
      payment_method_id: method,
      status: "succeeded",
      provider_id: `pi_${randomUUID()}`,
      username: null,
      created_at: time.now,
      due_at: time.now,
      settled_at: time.now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const payment = db
    .insertInto("payments")
    .values({ account_id: accountId, charge_id: charge.id, at: time.now, amount_micros: 12 * DOLLAR })
    .returning("id");
  return (await payment.executeTakeFirstOrThrow()).id;
}

/** As the operator registers one. */
export async function newCompute({ db, time }: World, accountId: number): Promise<number> {
  const row = db
    .insertInto("computes")
    .values({
      account_id: accountId,
      label: `compute-${++made}`,
      region: REGION,
      plan: null,
      host_id: null,
      created_at: time.now,
      updated_at: time.now,
      deleted_at: null,
    })
    .returning("id");
  return (await row.executeTakeFirstOrThrow()).id;
}

export async function newMaintenance({ db, time }: World, accountId: number, computeId: number): Promise<string> {
  const reason = `Maintenance ${++made}`;
  await db
    .insertInto("maintenance")
    .values({
      account_id: accountId,
      compute_id: computeId,
      type: "reboot",
      reason,
      status: "pending",
      when_at: new Date(time.now.getTime() + 86_400_000),
      created_at: time.now,
    })
    .execute();
  return reason;
}
