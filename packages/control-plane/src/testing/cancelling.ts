import { activeDatabase } from "./active-database.ts";
import { setPrice } from "./invoiced.ts";
import type { World } from "./world.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;

/** Cards of the fake provider. */
export const GOOD = "4242424242424242";
export const DECLINING = "4000000000000341";

/** The newest card is the default. */
export async function addCard(customer: Customer, number: string): Promise<void> {
  await customer.put("/v4/account", { zip: "20457" });
  const card = { card_number: number, cvv: "123", expiry_month: 12, expiry_year: 2099 };
  const added = await customer.post("/v4/account/payment-methods", {
    type: "credit_card",
    is_default: true,
    data: card,
  });
  if (added.status !== 200) throw new Error(`The card was not taken: ${JSON.stringify(added.body)}`);
}

export const later = (world: World, hours: number): void => {
  world.time.now = new Date(world.time.now.getTime() + hours * 3_600_000);
};

/** An account whose database has run for two and a half hours, billed as three: it owes 3 dollars. */
export async function owing(world: World) {
  world.time.now = new Date(`${world.time.now.toISOString().slice(0, 10)}T10:15:00Z`);
  await setPrice(world, { hourly: 1_000_000, monthly: 500_000_000 });
  const [alice, host] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host);
  later(world, 2.5);
  return { alice, host, database };
}
