import { type EntityType, type Operation, pathsOf } from "@moorage/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { Db } from "#platform/db/database.ts";
import { DomainError, type ErrorDetail, notFound } from "#platform/errors.ts";
import { type Filter, readFilter } from "#platform/filter.ts";
import type { Clock } from "#platform/clock.ts";
import { noKey, createIdempotency, type Idempotency, type IdempotencySecrets } from "#platform/http/idempotency.ts";
import { scopeHeaders } from "#platform/http/tenant-headers.ts";
import type { RateLimiter } from "#platform/limits/rate-limiter.ts";
import { identifyWithinLimits } from "#platform/limits/within-limits.ts";
import { type PageRequest, readPage } from "#platform/http/page.ts";
import { fileOf, readFiles } from "#platform/http/upload-body.ts";
import { ignoredFieldsHeader, judgeUnknownFields } from "#platform/http/unknown-fields.ts";
import { isText, validate, validPartOf } from "#platform/http/validate.ts";
import type { Authenticate } from "./authenticate.ts";
import { closedAccountHolder } from "./closed-account-holder.ts";
import { permissionOn } from "./grants.ts";
import { isUserGone } from "./identity-store.ts";
import { invalidToken } from "./invalid-token.ts";
import { nameWhatIsMissing } from "./name-what-is-missing.ts";
import { type Principal, requireAccess, requirePermission } from "./principal.ts";

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

export type RouteDeps = {
  db: Db;
  clock: Clock;
  authenticate: Authenticate;
  limiter: RateLimiter;
  idempotencySecrets: IdempotencySecrets;
  /** Whether an account has an object; provided by the module that owns this kind. */
  exists: Record<EntityType, (accountId: number, id: number) => Promise<boolean>>;
};

/**
 * Registers an operation of the contract as a route; there is no other way. Checks are made in this order: token,
 * scope, kind of user or account grant, object, grant on the object, body; then the handler checks the state.
 */
export function route<const O extends Operation>(
  app: FastifyInstance,
  deps: RouteDeps,
  operation: O,
  handle: (call: Call<O>) => Promise<Answer<O>>,
  /**
   * Rejects if the object does not exist; for objects without grants, so that this check too precedes that of the body.
   */
  findObject: (call: Pick<Call<O>, "principal" | "params">) => Promise<unknown> = async () => {},
  /**
   * Checks well-formed fields when others are malformed, so that the caller gets all errors at once. Nothing else is
   * checked then.
   */
  judgePart: (part: Partial<Call<O>["body"]>) => Promise<readonly ErrorDetail[]> = async () => [],
): void {
  const { access } = operation;
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    try {
      return await answer(request, reply);
    } catch (error) {
      throw nameWhatIsMissing(error, operation, rawParams(operation, request.params as Record<string, string>));
    }
  };
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const accepted = access === "public" ? (operation.scopesIfSent ?? []) : access.scopes;
    scopeHeaders(reply, { held: undefined, accepted, accountUuid: undefined });
    const principal = await identifyWithinLimits(deps.limiter, operation, request, reply, () =>
      principalOf(deps, operation, request),
    );
    if (principal !== undefined)
      scopeHeaders(reply, { held: principal.scopes, accepted, accountUuid: principal.accountUuid });
    if (principal !== undefined) requireAccess(principal, access === "public" ? { scopes: accepted } : access);
    const params = paramsOf(operation, request.params as Record<string, string>);
    if (principal !== undefined) await requireEntity(deps, operation, principal, params);
    await findObject({ principal, params } as Call<O>);
    const given = await handle({
      principal,
      params,
      query: operation.query === undefined ? undefined : validate(operation.query, request.query ?? {}),
      page: operation.paged === true ? readPage(request.query as Record<string, unknown>) : undefined,
      filter:
        operation.paged === true
          ? readFilter(header(request, "x-filter"), operation.filterable ?? {}, {
              aliases: operation.filterAliases,
              unorderable: operation.unorderable,
            })
          : undefined,
      body: await bodyOf(operation, request, reply, judgePart),
      idempotency:
        principal === undefined || operation.method !== "POST"
          ? noKey
          : idempotencyOf(deps, operation, request, principal, params),
    } as Call<O>).catch((error: unknown) => {
      throw isUserGone(error) ? invalidToken() : error;
    });
    if (operation.download !== undefined) reply.headers(headersOfFile(operation.download));
    return given === undefined ? reply.status(204).send() : given;
  };
  const { cacheSeconds, upload } = operation as Operation;
  const options = {
    method: operation.method,
    config: cacheSeconds === undefined ? {} : { cacheControl: `private, max-age=${cacheSeconds}` },
    ...(upload === undefined ? {} : { bodyLimit: upload.mostBytes }),
  };
  const routes = (scope: FastifyInstance): void => {
    for (const url of urlsOf(operation)) scope.route({ ...options, url, handler });
  };
  if (upload === undefined) routes(app);
  else
    void app.register(async (scope) => {
      readFiles(scope);
      routes(scope);
    });
}

async function bodyOf(
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  judgePart: (part: never) => Promise<readonly ErrorDetail[]>,
): Promise<unknown> {
  const { body: schema, upload } = operation;
  if (upload !== undefined) return fileOf(request, upload.types);
  if (schema === undefined) return undefined;
  const { faults, ignored } = judgeUnknownFields(operation, request.body);
  reply.headers(ignoredFieldsHeader(ignored));
  try {
    return validate(schema, request.body ?? {}, faults);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const named = new Set(error.errors.map(({ field }) => field));
    const others = await judgePart(validPartOf(schema, request.body) as never);
    throw new DomainError("invalid", ...error.errors, ...others.filter(({ field }) => !named.has(field)));
  }
}

/** A file from an untrusted uploader: browsers must not guess its type or run anything in it. */
const headersOfFile = (type: string) => ({
  "content-type": type,
  "content-security-policy": "default-src 'none'",
  "x-content-type-options": "nosniff",
});

/** A token sent to a public operation is checked too: an invalid one is never treated as anonymous. */
async function principalOf(
  deps: RouteDeps,
  operation: Operation,
  request: FastifyRequest,
): Promise<Principal | undefined> {
  const { authorization } = request.headers;
  if (operation.access === "public" && authorization === undefined) return undefined;
  try {
    return await deps.authenticate(authorization);
  } catch (error) {
    const holder = operation.endsAccount === true ? await closedAccountHolder(deps, authorization) : undefined;
    if (holder !== undefined) await idempotencyOf(deps, operation, request, holder, undefined).requireNotDone(deps.db);
    throw error;
  }
}

/** One per request: a key belongs to a user, an operation and a request body. */
const idempotencyOf = (
  deps: RouteDeps,
  operation: Operation,
  request: FastifyRequest,
  { accountId, userId }: Pick<Principal, "accountId" | "userId">,
  params: unknown,
): Idempotency =>
  createIdempotency({
    accountId,
    userId,
    operationId: operation.id,
    secrets: deps.idempotencySecrets,
    now: deps.clock(),
    key: header(request, "idempotency-key"),
    request: { params, body: request.body },
    secretReply: operation.secretReply === true,
  });

/** For an unrestricted user the object is looked up here only if a body would be checked before it. */
async function requireEntity(
  deps: RouteDeps,
  operation: Operation,
  principal: Principal,
  params: unknown,
): Promise<void> {
  const entity = operation.access === "public" ? undefined : operation.access.entity;
  if (entity === undefined || (!principal.restricted && operation.body === undefined)) return;
  const id = (params as Record<string, number>)[entity.param] as number;
  if (!(await deps.exists[entity.type](principal.accountId, id))) throw notFound();
  if (!principal.restricted) return;
  const held = await permissionOn(deps.db, principal, entity.type, id);
  if (requirePermission(held, entity.permission) === "not-found") throw notFound();
}

const header = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(",") : value;
};

/** An id with a slash arrives as two segments, or as one with `%2F`. */
function urlsOf(operation: Operation): string[] {
  const { slashParam } = operation;
  const all: string[] = pathsOf(operation);
  if (slashParam === undefined) return all;
  return all.flatMap((each) => [each, each.replace(`:${slashParam}`, `:${slashParam}_left/:${slashParam}_right`)]);
}

/** As they were sent; an id of two segments is joined. */
function rawParams({ slashParam }: Operation, raw: Record<string, string>): Record<string, string> {
  const left = slashParam === undefined ? undefined : raw[`${slashParam}_left`];
  return left === undefined ? raw : { ...raw, [slashParam as string]: `${left}/${raw[`${slashParam}_right`]}` };
}

/** An invalid id is treated as a missing object. */
function paramsOf(operation: Operation, raw: Record<string, string>): unknown {
  const { params: schema } = operation;
  if (schema === undefined) return undefined;
  const joined = rawParams(operation, raw);
  const parsed = schema.safeParse(joined);
  if (!parsed.success || !Object.values(joined).every(isText)) throw notFound();
  return parsed.data;
}
