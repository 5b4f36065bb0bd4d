import { addPaymentMethod, createPayment, operations, updateCreditCard } from "@moorage/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ReadinessDeps, readiness } from "#platform/http/readiness.ts";
import { createServer } from "#platform/http/server.ts";
import { type Bounds, shedLoad } from "#platform/http/shed.ts";
import { tenantHeaders } from "#platform/http/tenant-headers.ts";
import { type AddCardDeps, addCard, asCreditCard, asPaymentMethod } from "./add-card.ts";
import { type Caller, callerOf, Refused } from "./caller.ts";
import { pay } from "./pay.ts";

export type CardsServing = Bounds & Omit<ReadinessDeps, "check"> & { trustedProxies: string[] | false };

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
