import { fakeCardOf } from "./fake-cards.ts";
import {
  declinedCard,
  type FakeEvent,
  type FakeMemory,
  FakeRefusal,
  type Intent,
  type Method,
  metadataOf,
  missing,
  pageOf,
  type Session,
  wireCharge,
  wireIntent,
  wireMethod,
} from "./fake-payment-wire.ts";

/** As at the real provider. */
const LEAST_CENTS = 50;

/** The state of the fake provider. It never contains a card number: see fake-cards.ts. */
export function createFakeLedger(
  before: FakeMemory = { methods: [], intents: [], setups: [] },
  clock: () => Date = () => new Date(),
) {
  const methods = byId(before.methods);
  const intents = byId(before.intents);
  const setups = byId(before.setups);
  const sessions = new Map<string, Session>();
  let pageUrl = "https://pay.fake.test";
  let events: FakeEvent[] = [];
  // Another run of the fake makes other ids, as another provider would.
  const run = Date.now().toString(36);
  let made = 0;
  const newId = (kind: string): string => `${kind}_fake${run}x${++made}`;
  const emitEvent = (type: string, object: object): void =>
    void events.push({ id: newId("evt"), object: "event", type, data: { object } });

  const methodNamed = (id: string | null): Method => methods.get(id ?? "") ?? missing("payment_method");
  const intentNamed = (id: string): Intent => intents.get(id) ?? missing("intent");

  const addMethod = (number: string, month: number, year: number): Method => {
    const method = { id: newId("pm"), ...fakeCardOf(number), exp_month: month, exp_year: year, customer: null };
    methods.set(method.id, method);
    return method;
  };
  const setUp = (customer: string, method: Method) => {
    if (method.does === "is declined") throw declinedCard();
    method.customer = customer;
    const setup = { id: newId("seti"), customer, payment_method: method.id };
    setups.set(setup.id, setup);
    return { ...setup, object: "setup_intent", status: "succeeded" };
  };

  const charge = (form: URLSearchParams) => {
    const method = methodNamed(form.get("payment_method"));
    const customer = form.get("customer") ?? "";
    if (method.customer !== customer)
      throw new FakeRefusal(400, { type: "invalid_request_error", code: "payment_method_unexpected_state" });
    const amount = Number(form.get("amount"));
    if (amount < LEAST_CENTS) throw new FakeRefusal(400, { type: "invalid_request_error", code: "amount_too_small" });
    const isDeclined = method.does === "is declined when charged";
    const intent: Intent = {
      id: newId("pi"),
      amount,
      created: Math.floor(clock().getTime() / 1000),
      customer,
      payment_method: method.id,
      metadata: metadataOf(form),
      refunded: 0,
      status: isDeclined ? "requires_payment_method" : "succeeded",
      last_payment_error: isDeclined ? declinedCard().error : null,
    };
    intents.set(intent.id, intent);
    emitEvent(`payment_intent.${isDeclined ? "payment_failed" : "succeeded"}`, wireIntent(intent));
    if (isDeclined) throw declinedCard({ payment_intent: wireIntent(intent) });
    // An event that Moorage ignores.
    emitEvent("charge.succeeded", wireCharge(intent));
    return wireIntent(intent);
  };

  /** Objects that are asked for take the place of their ids. */
  const listed = (query: URLSearchParams) => {
    const asked = new Set([...query].flatMap(([name, value]) => (name.startsWith("expand[") ? [value] : [])));
    return (intent: Intent) => ({
      ...wireIntent(intent),
      ...(asked.has("data.latest_charge") && { latest_charge: wireCharge(intent) }),
      ...(asked.has("data.payment_method") && { payment_method: wireMethod(methodNamed(intent.payment_method)) }),
    });
  };

  const refund = (id: string, cents: number): object => {
    const intent = intentNamed(id);
    if (intent.refunded + cents > intent.amount)
      throw new FakeRefusal(400, { type: "invalid_request_error", code: "charge_already_refunded" });
    intent.refunded += cents;
    emitEvent("charge.refunded", wireCharge(intent));
    return { id: newId("re"), object: "refund", amount: cents, payment_intent: id, status: "succeeded" };
  };

  const cancel = (id: string) => {
    const intent = intentNamed(id);
    if (intent.status === "succeeded")
      throw new FakeRefusal(400, { type: "invalid_request_error", code: "payment_intent_unexpected_state" });
    intent.status = "canceled";
    emitEvent("payment_intent.canceled", wireIntent(intent));
    return wireIntent(intent);
  };

  const post: Record<string, (form: URLSearchParams, id: string) => object> = {
    customers: () => ({ id: newId("cus"), object: "customer" }),
    payment_methods: (form) =>
      wireMethod(
        addMethod(
          form.get("card[number]") ?? "",
          Number(form.get("card[exp_month]")),
          Number(form.get("card[exp_year]")),
        ),
      ),
    "payment_methods/:id/detach": (_form, id) => {
      const method = methodNamed(id);
      if (method.customer === null)
        throw new FakeRefusal(400, { type: "invalid_request_error", message: "It is not attached." });
      method.customer = null;
      return wireMethod(method);
    },
    setup_intents: (form) => {
      const method = methodNamed(form.get("payment_method"));
      return { ...setUp(form.get("customer") ?? "", method), manner: method.does };
    },
    payment_intents: (form) => charge(form),
    "payment_intents/:id/cancel": (_form, id) => cancel(id),
    refunds: (form) => refund(form.get("payment_intent") ?? "", Number(form.get("amount"))),
    "checkout/sessions": (form) => {
      const session = {
        id: newId("cs"),
        customer: form.get("customer") ?? "",
        metadata: metadataOf(form),
        setup_intent: null,
      };
      sessions.set(session.id, session);
      return { ...session, object: "checkout.session", mode: "setup", url: `${pageUrl}/checkout/${session.id}` };
    },
  };
  const get: Record<string, (query: URLSearchParams, id: string) => object> = {
    "payment_methods/:id": (_query, id) => wireMethod(methodNamed(id)),
    "payment_intents/:id": (_query, id) => wireIntent(intentNamed(id)),
    payment_intents: (query) => pageOf([...intents.values()].reverse().map(listed(query)), query),
    "setup_intents/:id": (_query, id) => {
      const setup = setups.get(id) ?? missing("setup_intent");
      return {
        ...setup,
        object: "setup_intent",
        status: "succeeded",
        payment_method: wireMethod(methodNamed(setup.payment_method)),
      };
    },
  };

  return {
    call(method: string, url: string, form: URLSearchParams): object {
      const { pathname, searchParams } = new URL(url, "http://fake");
      const parts = pathname.split("/").slice(2);
      const id = parts.find((part) => /_fake/.test(part)) ?? "";
      const name = parts.map((part) => (part === id ? ":id" : part)).join("/");
      const found = method === "POST" ? post[name] : get[name];
      if (found === undefined) return missing("path");
      return found(method === "POST" ? form : searchParams, id);
    },
    refund,
    /** The bank takes its time, and then decides. */
    setStatus: (id: string, status: "processing" | "succeeded") => void (intentNamed(id).status = status),
    /** The card that somebody enters on the provider's page. */
    completeCheckout(id: string, number: string): object {
      const session = sessions.get(id) ?? missing("session");
      const setup = setUp(session.customer, addMethod(number, 12, 2040));
      emitEvent("checkout.session.completed", {
        ...session,
        object: "checkout.session",
        mode: "setup",
        setup_intent: setup.id,
      });
      return {};
    },
    charged: () =>
      [...intents.values()]
        .filter(({ status }) => status === "succeeded")
        .map(({ id, amount, refunded, metadata }) => ({
          providerId: id,
          charge: Number(metadata["charge"]),
          account: metadata["account"] ?? "",
          cents: amount,
          refundedCents: refunded,
        })),
    /** The address of its card page. */
    servedAt: (url: string) => void (pageUrl = url),
    memory: (): FakeMemory => ({
      methods: [...methods.values()],
      intents: [...intents.values()],
      setups: [...setups.values()],
    }),
    isAttached: (token: string): boolean => (methods.get(token)?.customer ?? null) !== null,
    takeEvents(): FakeEvent[] {
      const taken = events;
      events = [];
      return taken;
    },
  };
}
export type FakeLedger = ReturnType<typeof createFakeLedger>;

const byId = <T extends { id: string }>(all: readonly T[]): Map<string, T> =>
  new Map(all.map((each) => [each.id, each]));
