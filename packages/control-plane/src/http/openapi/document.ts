import * as contract from "@moorage/contract";
import { type Access, ErrorReply, type Operation, operations } from "@moorage/contract";
import {
  errorResponse,
  errorResponses,
  errorStatuses,
  pageParameters,
  parametersOf,
  replyContentOf,
  requestBodyOf,
} from "./operation-parts.ts";
import { createSchemas, type JsonSchema, type Schemas } from "./schemas.ts";

/** The published API that this one follows; clients compare it with their own. */
const INTERFACE_VERSION = "4.174.0";

/** The API as OpenAPI 3.1, derived only from the operation table. */
export function openapiDocument(): object {
  const schemas = createSchemas(contract);
  const paths: Record<string, Record<string, object>> = {};
  const error = schemas.ofReply(ErrorReply);
  for (const operation of operations.flatMap(published)) {
    const path = (paths[operation.path.replace(/:(\w+)/g, "{$1}")] ??= {});
    path[operation.method.toLowerCase()] = operationObject(operation, schemas, error);
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Moorage",
      version: INTERFACE_VERSION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description: [
        "Requests need a token: `Authorization: Bearer <token>`. To get one, sign in on the sign-in page that your invitation names and create a personal token under *Sign-in and security*, or run `moorage login --url <the address of this API>`, which opens your browser. A program that acts for other people registers as an OAuth app instead.",
        "Every path is also served under `/v4beta`. Errors of every operation have the same form: all faults at once, each with its field where it has one.",
      ].join("\n\n"),
    },
    servers: [{ url: "/" }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "A personal access token or an OAuth token. In the query string it is refused.",
        },
      },
      parameters: { ...pageParameters, "Idempotency-Key": idempotencyKey },
      headers: { "Retry-After": retryAfter, "X-Ignored-Fields": ignoredFields, ...rateHeaders },
      responses: errorResponses(error),
      schemas: schemas.components(),
    },
  };
}

const tags: Record<Operation["tag"], string> = {
  Account: "Who the account is, what it owes, and what needs its attention.",
  Billing: "Invoices, payments, and the cards that are charged. Amounts are US dollars.",
  Compute: "Compute instances and their disks, as the operator registered them.",
  Databases: "Managed MySQL databases.",
  Events: "What happened in the account, for 90 days.",
  Images: "Disks to deploy: the operator's, which everybody sees, and the account's own.",
  "OAuth clients": "Applications that request access to accounts.",
  Profile: "The caller: tokens, apps, sign-in.",
  "Regions and types": "What there is to choose from.",
  Transfers: "Compute instances that move to another account.",
  Users: "Who may do what in the account.",
};

/**
 * An alias is mentioned in the description. An alias that the API once published as an operation stays one, deprecated.
 */
const published = (operation: Operation): Operation[] =>
  operation.former === undefined
    ? [operation]
    : [operation, { ...operation, ...operation.former, summary: `As ${operation.id}`, deprecated: true }];

function operationObject(operation: Operation, schemas: Schemas, error: JsonSchema): object {
  const { access } = operation;
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: descriptionOf(operation),
    tags: [operation.tag],
    ...(operation.deprecated === true ? { deprecated: true } : {}),
    // A public operation accepts a token too, and checks it.
    security: access === "public" ? [{}, { token: operation.scopesIfSent ?? [] }] : [{ token: access.scopes }],
    parameters: parametersOf(operation, schemas, operation.method === "POST" ? ["Idempotency-Key"] : []),
    ...requestBodyOf(operation, schemas),
    responses: {
      200: { description: "Done.", headers: headerRefsOf(operation), content: replyContentOf(operation, schemas) },
      ...(operation.mayBeEmpty === undefined
        ? {}
        : { 204: { description: operation.mayBeEmpty, headers: headerRefsOf(operation) } }),
      ...Object.fromEntries(
        errorStatuses(operation).map((status) => [status, { $ref: `#/components/responses/${status}` }]),
      ),
      ...(operation.conflict === undefined ? {} : { 409: errorResponse(operation.conflict, error) }),
    },
  };
}

function descriptionOf({
  access,
  scopesIfSent,
  note,
  aliases,
  emits,
  rate,
  servedBy,
  notOffered = [],
}: Operation): string {
  const events = emits?.map((action) => `\`${action}\``).join(", ");
  return [
    ...(access === "public" ? [publicly(scopesIfSent)] : needsOf(access)),
    ...(note === undefined ? [] : [note]),
    ...(notOffered.length === 0 ? [] : [`Not offered here, and refused with a value: ${namesOf(notOffered)}.`]),
    ...(servedBy === undefined ? [] : ["What is sent here is read by one process alone, and kept nowhere."]),
    ...(rate in ratesOfItsOwn ? [`Has a rate limit of its own, by default ${ratesOfItsOwn[rate]} a minute.`] : []),
    ...(events === undefined ? [] : [`Events: ${events}.`]),
    ...(aliases === undefined ? [] : [`Also served at ${aliases.map((alias) => `\`${alias}\``).join(", ")}.`]),
  ].join("\n\n");
}

const ratesOfItsOwn: Partial<Record<Operation["rate"], number>> = { accept: 2, images: 20 };

const publicly = (scopes: Operation["scopesIfSent"] = []): string =>
  scopes.length === 0
    ? "Needs no token; one that is sent is checked."
    : `Needs no token; one that is sent is checked, and must carry ${namesOf(scopes)}.`;

const namesOf = (scopes: readonly string[]): string => scopes.map((scope) => `\`${scope}\``).join(" and ");

function needsOf({ scopes, confirmed, unrestrictedOnly, grant, entity }: Access): string[] {
  const grants = [
    ...(grant === undefined ? [] : [`the grant \`${grant}\``]),
    ...(entity === undefined ? [] : [`the grant \`${entity.permission}\` on the ${entity.type}`]),
  ];
  return [
    scopes.length === 0 ? "Any token will do." : `Scope: ${namesOf(scopes)}.`,
    ...(confirmed === true
      ? [
          "Only with a personal token that has every scope (`*`), or that its user has just confirmed at the login host; never with the token of an app.",
        ]
      : []),
    ...(unrestrictedOnly === true
      ? ["Only for unrestricted users."]
      : grants.length > 0
        ? [`A restricted user needs ${grants.join(" and ")}.`]
        : []),
  ];
}

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Names this request for 24 hours: sent again with the same key and body, it answers as it did, without being done again.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
};

const integerHeader = (description: string): object => ({ description, schema: { type: "integer" } });
const retryAfter = integerHeader("Whole seconds after which to try again.");
const rateHeaders = {
  "X-RateLimit-Limit": integerHeader("How many requests the caller may make."),
  "X-RateLimit-Remaining": integerHeader("How many are left."),
  "X-RateLimit-Reset": integerHeader("When they are all back, in seconds since 1970."),
};
const ignoredFields = {
  description:
    "Fields of the body that this operation does not know, with commas between them. They had no effect. Missing if there are none.",
  schema: { type: "string" },
};

const headerRefsOf = ({ body }: Operation): object =>
  Object.fromEntries(
    [...Object.keys(rateHeaders), ...(body === undefined ? [] : ["X-Ignored-Fields"])].map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  );
