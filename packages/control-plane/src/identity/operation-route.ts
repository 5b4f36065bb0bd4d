import type { Operation } from "@moorage/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import { notFound } from "#platform/errors.ts";
import { type PageRequest, readPage } from "#platform/http/page.ts";
import { validate } from "#platform/http/validate.ts";
import type { Authenticate } from "./authenticate.ts";
import { type Principal, requireAccess } from "./principal.ts";

type Call<O extends Operation> = {
  principal: O["access"] extends "public" ? undefined : Principal;
  params: O["params"] extends z.ZodObject ? z.output<O["params"]> : undefined;
  body: O["body"] extends z.ZodObject ? z.output<O["body"]> : undefined;
  page: O["paged"] extends true ? PageRequest : undefined;
};

/**
 * The one way an operation of the contract becomes a route. Its order is the order of refusals: token, scope, user
 * kind, then (in the handler) object, body rules, state.
 */
export function route<const O extends Operation>(
  app: FastifyInstance,
  authenticate: Authenticate,
  operation: O,
  handle: (call: Call<O>) => Promise<z.output<O["reply"]>>,
): void {
  const { access } = operation;
  app.route({
    method: operation.method,
    url: operation.path,
    handler: async (request: FastifyRequest) => {
      // A token that is sent to a public operation is checked too: never silently anonymous.
      const anonymous = access === "public" && request.headers.authorization === undefined;
      const principal = anonymous ? undefined : await authenticate(request.headers.authorization);
      if (principal !== undefined && access !== "public") requireAccess(principal, access);
      return handle({
        principal,
        params: operation.params === undefined ? undefined : paramsOf(operation.params, request.params),
        page: operation.paged === true ? readPage(request.query as Record<string, unknown>) : undefined,
        body: operation.body === undefined ? undefined : validate(operation.body, request.body ?? {}),
      } as Call<O>);
    },
  });
}

/** An id that cannot exist is an object that does not. */
function paramsOf(schema: z.ZodObject, params: unknown): unknown {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw notFound();
  return parsed.data;
}
