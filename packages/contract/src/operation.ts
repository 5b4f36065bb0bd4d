import type { z } from "zod";
import type { EventAction } from "./events.ts";

/** `*` is every scope; `area:read_write` includes `area:read_only`. */
export type Scope = `${string}:read_only` | `${string}:read_write`;

export type Permission = "read_only" | "read_write";

/** Grants on the whole account that a restricted user can have. */
export type GlobalGrant = "account_read" | "account_write" | "add_databases" | "add_images";

export type Access = {
  /** Scopes that a token must have, all of them; none: any token will do. */
  scopes: readonly Scope[];
  /**
   * Changes who can act on the account: only for a personal token that has every scope, or that its user has just
   * confirmed.
   */
  confirmed?: true;
  /** A restricted user is refused, whatever the token's scopes. */
  unrestrictedOnly?: true;
  /** A restricted user needs this grant. */
  grant?: GlobalGrant;
  /** The object named by the path, and the permission that a restricted user needs on it. */
  entity?: { type: EntityType; param: string; permission: Permission };
};

export type EntityType = "compute" | "database" | "image";
/** For `entity.type` in X-Filter: values used by clients of this family. */
export const entityAliases = { "entity.type": { linode: "compute" } } as const;

/** How a field may be compared in X-Filter. */
export type FilterKind = "string" | "number" | "boolean" | "date";

/** How often a caller may use an operation; the operator sets the limits. */
export type RateClass = "single" | "collection" | "accept" | "images";

/** What the operations of tenants and those of the operator have in common. */
export type AnyOperation = {
  id: string;
  summary: string;
  /** What a caller must know and no other field contains. */
  note?: string;
  tag: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: `/${string}`;
  /** Still published, but another operation should be used. */
  deprecated?: true;
  params?: z.ZodObject;
  /** A parameter whose value contains a slash, such as `mysql/9.7.4`: clients send it raw or encoded. */
  slashParam?: string;
  body?: z.ZodObject;
  /** Fields of the body that never change: accepted because clients send whole objects back. */
  fixed?: readonly string[];
  /** The body is a file of one of these types instead of JSON. */
  upload?: { types: readonly string[]; mostBytes: number };
  /** The answer is a file of this type instead of JSON. */
  download?: string;
  /** When the answer is 204 without a body. */
  mayBeEmpty?: string;
  /** Further query parameters, all of them optional. Unknown keys are ignored. */
  query?: z.ZodObject;
  /** A collection answers in the page envelope, takes `page` and `page_size`, and X-Filter over these fields. */
  paged?: true;
  filterable?: Readonly<Record<string, FilterKind>>;
  /** Filterable fields by which a list cannot be ordered. */
  unorderable?: readonly string[];
  /** Events that the operation can create. */
  emits?: readonly EventAction[];
  reply: z.ZodType;
};

/** An operation of the tenants' interface. */
export type Operation = AnyOperation & {
  audience?: "tenant";
  tag:
    | "Account"
    | "Billing"
    | "Compute"
    | "Databases"
    | "Events"
    | "Images"
    | "OAuth clients"
    | "Profile"
    | "Regions and types"
    | "Transfers"
    | "Users";
  path: `/v4/${string}`;
  /** Other paths that clients of this family use. */
  aliases?: readonly `/v4/${string}`[];
  /** An older operation of the interface that does the same, published as deprecated. */
  former?: { id: string; path: `/v4/${string}` };
  access: Access | "public";
  /** Scopes that a token must have, if one is sent, to see more of a public operation. */
  scopesIfSent?: readonly Scope[];
  /** Settings that others of this family have and we do not: refused, not ignored, if they have a value. */
  notOffered?: readonly string[];
  /** When the answer is 409. */
  conflict?: string;
  /** The process that serves it, if not `api`: the content of its body must not reach another process. */
  servedBy?: "cards";
  /** By field: values used by clients of this family that have another name here. */
  filterAliases?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  rate: RateClass;
  /** How long a client may cache the answer; most answers must not be cached. */
  cacheSeconds?: number;
  /** Revokes the caller's own token: a repeat with its Idempotency-Key is answered to whoever held that token. */
  endsAccount?: true;
  /** The reply is stored encrypted for a repeated request. */
  secretReply?: true;
};

/** An operation of the operator's interface, which has an address and a token of its own. */
export type OperatorOperation = AnyOperation & {
  audience: "operator";
  tag:
    | "Accounts"
    | "Audit"
    | "Billing"
    | "Catalogue"
    | "Compute"
    | "Databases"
    | "Hosts"
    | "Images"
    | "Keys"
    | "OAuth clients"
    | "Users and tokens";
  path: `/admin/${string}`;
};

export const defineOperation = <const O extends Operation | OperatorOperation>(operation: O): O => operation;

/** Among the exports of a family, which has schemas too. */
export const isTenantOperation = (value: unknown): value is Operation => audienceOf(value) === "tenant";
export const isOperatorOperation = (value: unknown): value is OperatorOperation => audienceOf(value) === "operator";

function audienceOf(value: unknown): unknown {
  const isOperation =
    typeof value === "object" && value !== null && "method" in value && "path" in value && "reply" in value;
  if (!isOperation) return undefined;
  return "audience" in value ? value.audience : "tenant";
}

/** Every path at which the operation is served. */
export const pathsOf = ({ path, aliases = [], former }: Operation): `/v4/${string}`[] => [
  path,
  ...aliases,
  ...(former === undefined ? [] : [former.path]),
];
