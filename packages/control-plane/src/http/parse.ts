import type { Principal } from "#identity/index.ts";
import { DomainError } from "#platform/errors.ts";
import { readFilter } from "#platform/filter/filter.ts";
import { createIdempotency, type Idempotency, noKey } from "#platform/http/idempotency.ts";
import { fileOf } from "#platform/http/request-body.ts";
import { readPage } from "#platform/http/page.ts";
import { ignoredFieldsHeader, judgeUnknownFields } from "#platform/http/unknown-fields.ts";
import { validate, validPartOf } from "#platform/http/validate.ts";
import { header, type RequestContext } from "./request-context.ts";

/** Query, page, filter, body, key: faults are reported of the first of them that has any. */
export async function parse(context: RequestContext): Promise<void> {
  const { operation, principal, request } = context;
  const isPaged = operation.paged === true;
  context.input = {
    query: operation.query === undefined ? undefined : validate(operation.query, request.query ?? {}),
    page: isPaged ? readPage(request.query as Record<string, unknown>) : undefined,
    filter: isPaged ? filterOf(context) : undefined,
    body: await bodyOf(context),
    idempotency: principal === undefined || operation.method !== "POST" ? noKey : idempotencyOf(context, principal),
  };
}

const filterOf = ({ operation: { filterable, filterAliases, unorderable }, request }: RequestContext) =>
  readFilter(header(request, "x-filter"), filterable ?? {}, { aliases: filterAliases, unorderable });

async function bodyOf({ operation, handlers, request, reply }: RequestContext): Promise<unknown> {
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
    const others = await handlers.judgePart(validPartOf(schema, request.body) as never);
    throw new DomainError("invalid", ...error.errors, ...others.filter(({ field }) => !named.has(field)));
  }
}

/** One per request: a key belongs to a user, an operation and a request body. */
export const idempotencyOf = (
  { deps, operation, request, params }: RequestContext,
  { accountId, userId }: Pick<Principal, "accountId" | "userId">,
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
