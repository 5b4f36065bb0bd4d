import {
  FAKE_KEY,
  FAKE_WEBHOOK_SECRET,
  signed,
  startFakePaymentProvider,
} from "@moorage/testkit/fake-payment-provider.ts";
import type { FakeEvent } from "@moorage/testkit/fake-payment-wire.ts";
import { createStripe, createStripeCharges, createStripeVault, type ChargeProvider } from "#payment-provider/index.ts";
import { createChargeJob, type ChargeDeps } from "#payments/index.ts";
import { createWhenCancelled } from "#account/index.ts";
import { createLog } from "#platform/log.ts";
import { CLOSED_ACCOUNT_DAYS, newWorld, type World, type WorldSettings } from "./world.ts";

export const GOOD_CARD = "4242424242424242";
/** Accepted, and declined when it is charged. */
export const EMPTY_CARD = "4000000000000341";

type Settings = WorldSettings & {
  chargeMs?: () => number;
  /** Of a charge, not of adding a card. */
  timeoutMs?: number;
  /** Wraps the provider's adapter, for a single test. */
  around?: (provider: ChargeProvider) => ChargeProvider;
};

/** A world with the fake payment provider behind Stripe's own client and the real adapters. */
export async function newPayingWorld({ chargeMs, timeoutMs, around = (same) => same, ...settings }: Settings = {}) {
  let clock = () => new Date();
  const fake = await startFakePaymentProvider({ clock: () => clock(), ...(chargeMs !== undefined && { chargeMs }) });
  const stripe = createStripe({ key: FAKE_KEY, url: fake.url, ...(timeoutMs !== undefined && { timeoutMs }) });
  const provider = around(
    createStripeCharges({ stripe, webhookSecret: FAKE_WEBHOOK_SECRET, returnUrl: "https://moorage.test" }),
  );
  const vault = createStripeVault(createStripe({ key: FAKE_KEY, url: fake.url }));
  const world = await newWorld({ ...settings, provider, vault });
  clock = world.clock;
  const deps: ChargeDeps = {
    db: world.db,
    clock: world.clock,
    log: createLog("test", "silent"),
    provider,
    whenSettled: { cancel: createWhenCancelled({ closedAccountDays: CLOSED_ACCOUNT_DAYS }) },
  };
  const addCard = async ({ post }: Pick<Awaited<ReturnType<World["customer"]>>, "post">, card_number: string) => {
    const data = { card_number, cvv: "123", expiry_month: 12, expiry_year: world.time.now.getFullYear() + 2 };
    const added = await post("/v4/account/payment-methods", { type: "credit_card", is_default: false, data });
    if (added.status !== 200) throw new Error(JSON.stringify(added.body));
  };
  return {
    ...world,
    fake,
    provider,
    chargeDeps: deps,
    chargeJob: createChargeJob({ ...deps, eachDue: world.eachDue }),
    /** Like the provider. */
    deliver: (event: FakeEvent) => deliver(world, event),
    async deliverAll() {
      for (const event of fake.takeEvents()) await deliver(world, event);
    },
    addCard,
    /** A customer with a billing address and these cards, the first of which is the default. */
    async payer(...cards: string[]) {
      const customer = await world.customer();
      await customer.put("/v4/account", { zip: "10115", country: "DE" });
      for (const card of cards.length === 0 ? [GOOD_CARD] : cards) await addCard(customer, card);
      return customer;
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await fake.close();
    },
  };
}
export type PayingWorld = Awaited<ReturnType<typeof newPayingWorld>>;

const deliver = async (world: World, event: FakeEvent): Promise<number> => {
  const { payload, headers } = signed(event);
  const reply = await world.send({ method: "POST", url: "/webhooks/stripe", payload, headers });
  return reply.statusCode;
};
