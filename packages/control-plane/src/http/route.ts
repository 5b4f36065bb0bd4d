import { type Operation, pathsOf } from "@moorage/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { invalidToken, isUserGone, type Principal } from "#identity/index.ts";
import type { ErrorDetail } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { readFiles } from "#platform/http/request-body.ts";
import { rawParams, urlsOf } from "#platform/http/operation-path.ts";
import type { PageRequest } from "#platform/http/page.ts";
import {
  authenticate,
  awaitTurn,
  findEntity,
  findObject,
  limit,
  limitGuesses,
  readPath,
  requireConfirmation,
  requireGrant,
  requireScope,
  requireUser,
  showScopes,
} from "./check-caller.ts";
import { nameWhatIsMissing } from "./name-what-is-missing.ts";
import { parse } from "./parse.ts";
import type { Check, RequestContext, RouteDeps } from "./request-context.ts";

type Call<O extends Operation> = {
  principal: O["access"] extends "public" ? Principal | undefined : Principal;
  params: O["params"] extends z.ZodObject ? z.output<O["params"]> : undefined;
  body: O["upload"] extends object ? Buffer : O["body"] extends z.ZodObject ? z.output<O["body"]> : undefined;
  query: O["query"] extends z.ZodObject ? z.output<O["query"]> : undefined;
  page: O["paged"] extends true ? PageRequest : undefined;
  filter: O["paged"] extends true ? Filter : undefined;
  idempotency: Idempotency;
};

/** Undefined becomes 204, for operations that allow it. */
type Answer<O extends Operation> = z.output<O["reply"]> | (O["mayBeEmpty"] extends string ? undefined : never);

/** The order of refusals, which is part of the interface: the first check that fails is the answer. */
const order: readonly Check[] = [
  showScopes,
  limitGuesses,
  authenticate,
  limit,
  showScopes,
  awaitTurn,
  requireScope,
  requireConfirmation,
  requireUser,
  readPath,
  findEntity,
  requireGrant,
  findObject,
  parse,
  handleCall,
];

/** Registers an operation of the contract as a route; there is no other way. */
export function route<const O extends Operation>(
  app: FastifyInstance,
  deps: RouteDeps,
  operation: O,
  /** Checks the state. */
  handle: (call: Call<O>) => Promise<Answer<O>>,
  /**
   * Rejects if the object does not exist; for objects without grants, so that this check too precedes that of the body.
   */
  findObjectOf: (call: Pick<Call<O>, "principal" | "params">) => Promise<unknown> = async () => {},
  /**
   * Checks well-formed fields when others are malformed, so that the caller gets all errors at once. Nothing else is
   * checked then.
   */
  judgePart: (part: Partial<Call<O>["body"]>) => Promise<readonly ErrorDetail[]> = async () => [],
): void {
  const handlers = { handle, findObject: findObjectOf, judgePart };
  register(app, operation, async (request, reply) => {
    const context: RequestContext = { deps, operation, handlers, request, reply };
    try {
      for (const check of order) await check(context);
    } catch (error) {
      throw nameWhatIsMissing(error, operation, rawParams(operation, request.params as Record<string, string>));
    }
    return send(context);
  });
}

/** The user may be deleted while their request is handled. */
async function handleCall(context: RequestContext): Promise<void> {
  const { handlers, principal, params, input } = context;
  try {
    context.answer = await handlers.handle({ principal, params, ...input } as never);
  } catch (error) {
    throw isUserGone(error) ? invalidToken() : error;
  }
}

function send({ operation: { download }, reply, answer }: RequestContext): unknown {
  if (download !== undefined) reply.headers(headersOfFile(download));
  return answer === undefined ? reply.status(204).send() : answer;
}

/** A file from an untrusted uploader: browsers must not guess its type or run anything in it. */
const headersOfFile = (type: string) => ({
  "content-type": type,
  "content-security-policy": "default-src 'none'",
  "x-content-type-options": "nosniff",
});

function register(
  app: FastifyInstance,
  operation: Operation,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  const { method, cacheSeconds, upload } = operation;
  const options = {
    method,
    config: cacheSeconds === undefined ? {} : { cacheControl: `private, max-age=${cacheSeconds}` },
    ...(upload === undefined ? {} : { bodyLimit: upload.mostBytes }),
  };
  const routes = (scope: FastifyInstance): void => {
    for (const url of urlsOf(operation, pathsOf(operation))) scope.route({ ...options, url, handler });
  };
  if (upload === undefined) routes(app);
  else
    void app.register(async (scope) => {
      readFiles(scope);
      routes(scope);
    });
}
