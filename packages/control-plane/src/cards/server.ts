import { addPaymentMethod, createPayment, NewPayment, operations, updateCreditCard } from "@moorage/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { DomainError } from "#platform/errors.ts";
import { readiness, type ReadinessDeps } from "#platform/http/readiness.ts";
import { createServer } from "#platform/http/server.ts";
import { type Bounds, shedLoad } from "#platform/http/shed.ts";
import { tenantHeaders } from "#platform/http/tenant-headers.ts";
import { judgeUnknownFields } from "#platform/http/unknown-fields.ts";
import { addCard, type AddCardDeps, asCreditCard, asPaymentMethod, unavailable } from "./add-card.ts";
import { type Caller, callerOf, Refused } from "./caller.ts";
import { AdmissionUnreachable, type CardAdmission } from "./card-admission.ts";
import { texts } from "./texts.ts";

type CardsServing = Bounds & Omit<ReadinessDeps, "check"> & { trustedProxies: string[] | false };

/** The largest of these bodies has a few hundred bytes. */
const BODY_LIMIT = 16 * 1024;

const paths = new Set<string>([addPaymentMethod, updateCreditCard, createPayment].map(({ path }) => path));

/** The only server that receives card numbers. It logs and stores nothing of what it receives. */
export function createCardsServer(deps: AddCardDeps, serving: CardsServing): FastifyInstance {
  const { cardAdmission } = deps;
  const app = createServer(
    deps.log,
    {
      trustProxy: serving.trustedProxies,
      bodyLimit: BODY_LIMIT,
      routerOptions: { ignoreTrailingSlash: true },
    },
    {
      secretive: true,
      elsewhere: operations.filter(({ path, servedBy }) => paths.has(path) && servedBy === undefined),
    },
  );
  tenantHeaders(app);
  shedLoad(app, serving);
  readiness(app, { ...serving, check: () => cardAdmission.check() });

  app.post(
    addPaymentMethod.path,
    answering((caller, body) => addCard(deps, asPaymentMethod, caller, body)),
  );
  app.post(
    updateCreditCard.path,
    answering((caller, body) => addCard(deps, asCreditCard, caller, body)),
  );
  app.post(
    createPayment.path,
    answering((caller, body) => pay(cardAdmission, caller, body)),
  );
  return app;
}

/** Refusals of the card admission are answered verbatim. */
const answering =
  (work: (caller: Caller, body: unknown) => Promise<unknown>) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    try {
      return await work(callerOf(request, reply), request.body);
    } catch (error) {
      if (error instanceof Refused) return reply.status(error.reply.status).send(error.reply.body);
      throw error;
    }
  };

/** A payment names a stored card. Other fields, such as the card's code, are dropped here. */
async function pay(cardAdmission: CardAdmission, caller: Caller, body: unknown): Promise<unknown> {
  const { faults, ignored } = judgeUnknownFields(createPayment, body);
  // SDKs send it with every payment.
  caller.reportIgnored(ignored.filter((name) => name !== "cvv"));
  // The card admission checks the caller first, and then refuses a body that is no object.
  const payload = faults.length > 0 ? [] : knownOf(body);
  try {
    const reply = await cardAdmission.post({ path: createPayment.path, headers: caller.headers, body: payload });
    return caller.passOn(reply).body;
  } catch (error) {
    if (faults.length > 0 && error instanceof Refused && error.reply.status === 400)
      throw new DomainError("invalid", ...faults);
    throw error instanceof AdmissionUnreachable ? unavailable(texts.paymentOutcomeUnknown()) : error;
  }
}

/** A body that is no object stays one, so that it is refused for that. */
function knownOf(body: unknown): unknown {
  if (body === undefined) return {};
  if (typeof body !== "object" || body === null || Array.isArray(body)) return [];
  return Object.fromEntries(Object.entries(body).filter(([name]) => Object.hasOwn(NewPayment.shape, name)));
}
