import type { FastifyInstance } from "fastify";
import { NotFromProvider, OutcomeUnknown } from "#payment-provider/index.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { readFiles } from "#platform/http/upload-body.ts";
import { applyEvent } from "./apply-event.ts";
import type { ChargeDeps } from "./deps.ts";
import { texts } from "./texts.ts";

const MOST_BYTES = 256 * 1024;

/**
 * Receives the provider's events. It is no operation of the API: the signature over the bytes authenticates the
 * request. The provider repeats an event for days until the answer is 200.
 */
export function webhookRoute(app: FastifyInstance, deps: ChargeDeps): void {
  void app.register(async (scope) => {
    readFiles(scope);
    scope.post("/webhooks/stripe", { bodyLimit: MOST_BYTES }, async ({ body, headers }) => {
      const { provider } = deps;
      if (provider === undefined) throw notFound();
      const signature = headers["stripe-signature"];
      const event = await provider
        .readEvent(
          Buffer.isBuffer(body) ? body : Buffer.alloc(0),
          typeof signature === "string" ? signature : undefined,
        )
        .catch((error: unknown) => {
          throw refusalOf(error);
        });
      if (event !== undefined) await applyEvent(deps, event);
      return {};
    });
  });
}

function refusalOf(error: unknown): unknown {
  if (error instanceof NotFromProvider) return new DomainError("invalid", { reason: texts.eventSignatureInvalid() });
  if (error instanceof OutcomeUnknown) return new DomainError("unavailable", { reason: texts.eventUnavailable() });
  return error;
}
