import type { EntityType, Operation } from "@moorage/contract";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Authenticate, Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { ErrorDetail } from "#platform/errors.ts";
import type { Filter } from "#platform/filter/filter.ts";
import type { Idempotency, IdempotencySecrets } from "#platform/http/idempotency.ts";
import type { PageRequest } from "#platform/http/page.ts";
import type { RateLimiter } from "#platform/limits/rate-limiter.ts";

export type RouteDeps = {
  db: Db;
  clock: Clock;
  authenticate: Authenticate;
  limiter: RateLimiter;
  idempotencySecrets: IdempotencySecrets;
  /** Whether an account has an object; provided by the module that owns this kind. */
  exists: Record<EntityType, (accountId: number, id: number) => Promise<boolean>>;
};

/** What a capability provides for its operation. `route` has the types; the checks need none of them. */
export type Handlers = {
  findObject: (call: never) => Promise<unknown>;
  judgePart: (part: never) => Promise<readonly ErrorDetail[]>;
  handle: (call: never) => Promise<unknown>;
};

/** One request to an operation, and what the checks so far have found out about it. */
export type RequestContext = {
  readonly deps: RouteDeps;
  readonly operation: Operation;
  readonly handlers: Handlers;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Undefined: anonymous. */
  principal?: Principal | undefined;
  params?: unknown;
  input?: {
    query: unknown;
    page: PageRequest | undefined;
    filter: Filter | undefined;
    body: unknown;
    idempotency: Idempotency;
  };
  /** Undefined becomes 204. */
  answer?: unknown;
};

/** Throws if the request is refused. */
export type Check = (context: RequestContext) => Promise<void> | void;

export const header = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(",") : value;
};
