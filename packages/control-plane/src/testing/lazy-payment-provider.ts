import {
  FAKE_KEY,
  FAKE_WEBHOOK_SECRET,
  type FakePaymentProvider,
  startFakePaymentProvider,
} from "@moorage/testkit/fake-payment-provider.ts";
import {
  type CardVault,
  type ChargeProvider,
  createStripe,
  createStripeCharges,
  createStripeVault,
} from "#payment-provider/index.ts";

/** A slower response counts as none: only a machine that hangs takes so long. */
const TIMEOUT_MS = 60_000;

/** The fake provider with the real adapters, started by its first caller: most worlds never need it. */
export function createLazyPaymentProvider() {
  let started: Promise<FakePaymentProvider> | undefined;
  const fake = (): Promise<FakePaymentProvider> => (started ??= startFakePaymentProvider());
  const stripe = async () => createStripe({ key: FAKE_KEY, url: (await fake()).url, timeoutMs: TIMEOUT_MS });
  const charges = async () =>
    createStripeCharges({
      stripe: await stripe(),
      webhookSecret: FAKE_WEBHOOK_SECRET,
      returnUrl: "https://login.moorage.test",
    });
  const provider: ChargeProvider = {
    charge: async (...asked) => (await charges()).charge(...asked),
    find: async (...asked) => (await charges()).find(...asked),
    listSince: async (...asked) => (await charges()).listSince(...asked),
    forget: async (...asked) => (await charges()).forget(...asked),
    linkToAddCard: async (...asked) => (await charges()).linkToAddCard(...asked),
    readEvent: async (...asked) => (await charges()).readEvent(...asked),
  };
  const vault: CardVault = { keep: async (...asked) => createStripeVault(await stripe()).keep(...asked) };
  return {
    fake,
    provider,
    vault,
    close: async (): Promise<void> => {
      await (await started)?.close();
    },
  };
}
