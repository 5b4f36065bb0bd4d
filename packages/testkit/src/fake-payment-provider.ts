import { createHmac, randomBytes } from "node:crypto";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { createFakeLedger, type FakeLedger } from "./fake-payment-ledger.ts";
import { type FakeEvent, FakeRefusal } from "./fake-payment-wire.ts";

/**
 * A fake payment provider: it implements the part of Stripe's API that Moorage uses, and remembers its actions, so that
 * the real client and adapters run against it. Unlike Stripe's test mode it can inject faults.
 */
export type FakeFault =
  /** The connection breaks, before or after the action. Twice, because Stripe's client repeats such a call once. */
  | "break before"
  | "break after"
  /** No response arrives until the caller gives up. */
  | "silent before"
  | "silent after"
  /** A response of 500, which the idempotency key then repeats, as at Stripe. */
  | "error before"
  | "error after";
type Armed = { fault: FakeFault; path: string; left: number };

/** For every installation that uses the fake: it opens nothing. */
export const FAKE_KEY = "sk_test_fake";
export const FAKE_WEBHOOK_SECRET = "whsec_fake";

const failed = { status: 500, body: { error: { type: "api_error", message: "It went wrong." } } };

type Options = {
  host?: string;
  port?: number;
  /** Where events are sent as soon as they happen; otherwise they wait for `takeEvents`. */
  webhookUrl?: string;
  webhookSecret?: string;
  /** How long a charge takes. Meanwhile its key is in use. */
  chargeMs?: () => number;
  /** The time at which a charge counts as made. */
  clock?: () => Date;
  /** Its earlier state, if it is restarted. */
  ledger?: FakeLedger;
  /** Called after each call that may have changed something. */
  changed?: () => void;
};

export async function startFakePaymentProvider(options: Options = {}) {
  const ledger = options.ledger ?? createFakeLedger(undefined, options.clock);
  const answers = new Map<string, { digest: string; status: number; body: object } | "in use">();
  // Requests are compared by a keyed digest, which is worthless to anybody else.
  const secret = randomBytes(32);
  const digestOf = (request: FastifyRequest): string =>
    createHmac("sha256", secret)
      .update(`${request.url} ${textOf(request)}`)
      .digest("base64");
  const armed: Armed[] = [];
  const calls: { method: string; path: string; key: string | undefined }[] = [];

  const app = Fastify();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));

  const handle = (request: FastifyRequest): { status: number; body: object } => {
    try {
      return {
        status: 200,
        body: ledger.call(request.method, request.url, new URLSearchParams(textOf(request))),
      };
    } catch (error) {
      if (error instanceof FakeRefusal) return { status: error.status, body: { error: error.error } };
      throw error;
    }
  };

  const takeTime = async (key: string | undefined): Promise<void> => {
    const ms = options.chargeMs?.() ?? 0;
    if (ms === 0) return;
    if (key !== undefined) answers.set(key, "in use");
    await new Promise((resolve) => setTimeout(resolve, ms));
  };

  app.all("/v1/*", async (request, reply) => {
    const path = request.url.split("?", 1)[0] as string;
    const key = request.headers["idempotency-key"] as string | undefined;
    calls.push({ method: request.method, path, key });
    const fault = takeFault(armed, request.method, path);
    if (fault === "break before") return hangUp(request, reply);
    if (fault === "silent before") return reply.hijack();
    const kept = key === undefined ? undefined : answers.get(key);
    if (kept === "in use") return refuse(reply, 409, "idempotency_key_in_use", "This key is in use.");
    const digest = digestOf(request);
    if (kept !== undefined && kept.digest !== digest)
      return reply.status(400).send({ error: { type: "idempotency_error", message: "Other parameters." } });
    if (kept !== undefined) return answer(request, reply, kept, fault);
    if (path === "/v1/payment_intents" && request.method === "POST") await takeTime(key);
    const done = fault === "error before" ? failed : handle(request);
    const sent = fault === "error after" ? failed : done;
    if (key !== undefined) answers.set(key, { digest, ...sent });
    options.changed?.();
    sendEvents();
    return answer(request, reply, sent, fault);
  });

  // What a person does on the provider's card page.
  app.post("/checkout/:session", async (request) => {
    const number = new URLSearchParams(textOf(request)).get("number") ?? "";
    ledger.completeCheckout((request.params as { session: string }).session, number);
    options.changed?.();
    sendEvents();
    return {};
  });
  app.get("/fake/charges", async () => ledger.charged());
  app.get("/health", async () => ({ status: "ok" }));
  app.post("/fake/fail", async (request) => {
    const { fault, path = "", times = 1 } = JSON.parse(textOf(request)) as Partial<Armed> & { times?: number };
    fail(fault as FakeFault, { path, times });
    return {};
  });

  const fail = (fault: FakeFault, { path = "POST /v1/payment_intents", times = 1 } = {}): void => {
    armed.push({ fault, path, left: fault.startsWith("break") ? times * 2 : times });
  };
  const sendEvents = (): void => {
    if (options.webhookUrl === undefined) return;
    for (const event of ledger.takeEvents()) void deliver(options.webhookUrl, event, options.webhookSecret);
  };
  const url = await app.listen({ host: options.host ?? "127.0.0.1", port: options.port ?? 0 });
  ledger.servedAt(url);

  return {
    url,
    ledger,
    /** Every call, in the order of arrival. */
    calls,
    /** Injects a fault into the next calls that begin so. */
    fail,
    heal: () => void armed.splice(0),
    /** What was really charged. */
    charged: () => ledger.charged(),
    setStatus: ledger.setStatus,
    refund: (providerId: string, cents: number) => ledger.refund(providerId, cents),
    completeCheckout: (address: string, number: string) =>
      ledger.completeCheckout(address.split("/").at(-1) ?? "", number),
    /** Events that were not taken yet, in order. */
    takeEvents: () => ledger.takeEvents(),
    async close() {
      app.server.closeAllConnections();
      await app.close();
    },
    async [Symbol.asyncDispose]() {
      await this.close();
    },
  };
}
export type FakePaymentProvider = Awaited<ReturnType<typeof startFakePaymentProvider>>;

/** As the provider sends it now: each delivery has its own time and signature. */
export function signed(
  event: FakeEvent,
  secret = FAKE_WEBHOOK_SECRET,
): { payload: string; headers: Record<string, string> } {
  const payload = JSON.stringify(event);
  const at = Math.floor(Date.now() / 1000);
  const v1 = createHmac("sha256", secret).update(`${at}.${payload}`).digest("hex");
  return { payload, headers: { "content-type": "application/json", "stripe-signature": `t=${at},v1=${v1}` } };
}

/** As the only parser leaves it. */
const textOf = ({ body }: FastifyRequest): string => (body ?? "") as string;

const DELIVERIES = 20;

async function deliver(url: string, event: FakeEvent, secret?: string): Promise<void> {
  for (let tried = 0; tried < DELIVERIES; tried++) {
    const { payload, headers } = signed(event, secret);
    const ok = await fetch(url, { method: "POST", body: payload, headers }).then(
      (reply) => reply.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, Math.min(1000 * 2 ** tried, 60_000)).unref());
  }
}

function takeFault(armed: Armed[], method: string, path: string): FakeFault | undefined {
  const at = armed.findIndex((each) => `${method} ${path}`.startsWith(each.path));
  const found = armed[at];
  if (found === undefined) return undefined;
  if (--found.left <= 0) armed.splice(at, 1);
  return found.fault;
}

function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, body }: { status: number; body: object },
  fault: FakeFault | undefined,
): unknown {
  const manner = (body as { manner?: string }).manner;
  if (fault === "break after" || manner === "breaks the line") return hangUp(request, reply);
  if (fault === "silent after" || manner === "is silent") return reply.hijack();
  return reply.status(status).send(body);
}

const refuse = (reply: FastifyReply, status: number, code: string, message: string) =>
  reply.status(status).send({ error: { type: "invalid_request_error", code, message } });

function hangUp(request: FastifyRequest, reply: FastifyReply): unknown {
  request.raw.socket.destroy();
  return reply.hijack();
}
