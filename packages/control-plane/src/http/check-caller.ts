import type { Access } from "@moorage/contract";
import {
  closedAccountHolder,
  permissionOn,
  requireConfirmed,
  requireKindOfUser,
  requirePermission,
  requireScopes,
} from "#identity/index.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { readParams } from "#platform/http/operation-path.ts";
import { scopeHeaders } from "#platform/http/tenant-headers.ts";
import { applyRate, type Caller, callerOf, refuseCrowd } from "#platform/limits/caller.ts";
import { idempotencyOf } from "./parse.ts";
import type { RequestContext } from "./request-context.ts";

/** Before the token is known, so that refusals have the headers too, and again afterwards. */
export function showScopes({ operation: { access, scopesIfSent }, principal, reply }: RequestContext): void {
  const accepted = access === "public" ? (scopesIfSent ?? []) : access.scopes;
  scopeHeaders(reply, { held: principal?.scopes, accepted, accountUuid: principal?.accountUuid });
}

/**
 * Wrong tokens spend a budget of their own of their address; once it is empty, no token from that address is looked up.
 * A flood of guesses then costs memory only, and does not reveal a right guess.
 */
export function limitGuesses({ deps, operation, request, reply }: RequestContext): void {
  if (request.headers.authorization === undefined) return;
  const refusal = deps.limiter.refusal(callerOf.guess(request.ip), operation);
  if (refusal !== undefined) applyRate(reply, refusal);
}

/** A token sent to a public operation is checked too: an invalid one is never treated as anonymous. */
export async function authenticate(context: RequestContext): Promise<void> {
  const { deps, operation, request, reply } = context;
  const { authorization } = request.headers;
  if (operation.access === "public" && authorization === undefined) return;
  try {
    context.principal = await deps.authenticate(authorization).catch(async (error: unknown) => {
      await repeatLastAnswer(context, authorization);
      throw error;
    });
  } catch (error) {
    const nobody = authorization === undefined ? callerOf.anonymous(request.ip) : callerOf.guess(request.ip);
    if (error instanceof DomainError && error.kind === "unauthorized")
      applyRate(reply, await deps.limiter.take(nobody, operation));
    throw error;
  }
}

/** Whoever ended their account has no valid token any more, and may have lost the answer. */
async function repeatLastAnswer(context: RequestContext, authorization: string | undefined): Promise<void> {
  const { deps, operation } = context;
  const holder = operation.endsAccount === true ? await closedAccountHolder(deps, authorization) : undefined;
  if (holder !== undefined) await idempotencyOf(context, holder).requireNotDone(deps.db);
}

/** Charges the request to the budgets of the token and its account, or of the address when there is no token. */
export async function limit({ deps, operation, principal, request, reply }: RequestContext): Promise<void> {
  applyRate(reply, await deps.limiter.take(callerIn({ principal, request }), operation));
}

/** Waits until it is the request's turn among all those of its account, or of its network when there is no token. */
export async function awaitTurn({ principal, request, reply }: RequestContext): Promise<void> {
  const { place } = request;
  const { own, group } = callerIn({ principal, request });
  if (place !== undefined && !(await place.claim(group?.name ?? own))) refuseCrowd(reply, place.share.places);
}

const callerIn = ({ principal, request }: Pick<RequestContext, "principal" | "request">): Caller =>
  principal === undefined ? callerOf.anonymous(request.ip) : callerOf.token(principal);

export function requireScope({ operation: { access, scopesIfSent }, principal }: RequestContext): void {
  if (principal === undefined) return;
  requireScopes(principal, access === "public" ? (scopesIfSent ?? []) : access.scopes);
}

/** Before the kind of user: it depends on the token alone. */
export function requireConfirmation({ deps, operation: { access }, principal }: RequestContext): void {
  if (principal !== undefined && access !== "public" && access.confirmed === true)
    requireConfirmed(principal, deps.clock());
}

/** The kind of user, or the grant for the account. */
export function requireUser({ operation: { access }, principal }: RequestContext): void {
  if (principal !== undefined && access !== "public") requireKindOfUser(principal, access);
}

/** An invalid id is treated as a missing object. */
export function readPath(context: RequestContext): void {
  const read = readParams(context.operation, context.request.params as Record<string, string>);
  if ("wrong" in read) throw notFound();
  context.params = read.params;
}

/** For an unrestricted user the object is looked up here only if a body would be checked before it. */
export async function findEntity(context: RequestContext): Promise<void> {
  const { deps, operation, principal } = context;
  const entity = entityOf(context);
  if (principal === undefined || entity === undefined) return;
  if (!principal.restricted && operation.body === undefined) return;
  if (!(await deps.exists[entity.type](principal.accountId, entity.id))) throw notFound();
}

/** The grant on the object. An object that the user may not see does not exist for them. */
export async function requireGrant(context: RequestContext): Promise<void> {
  const { deps, principal } = context;
  const entity = entityOf(context);
  if (principal === undefined || entity === undefined || !principal.restricted) return;
  const held = await permissionOn(deps.db, principal, entity.type, entity.id);
  if (requirePermission(held, entity.permission) === "not-found") throw notFound();
}

type Entity = NonNullable<Access["entity"]> & { id: number };

function entityOf({ operation: { access }, params }: RequestContext): Entity | undefined {
  if (access === "public" || access.entity === undefined) return undefined;
  return { ...access.entity, id: (params as Record<string, number>)[access.entity.param] as number };
}

/** An object that no grant names. */
export async function findObject({ handlers, principal, params }: RequestContext): Promise<void> {
  await handlers.findObject({ principal, params } as never);
}
