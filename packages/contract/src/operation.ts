import type { z } from "zod";
import type { EventAction } from "./events.ts";

/** `*` is every scope; `area:read_write` includes `area:read_only`. */
export type Scope = `${string}:read_only` | `${string}:read_write`;

export type Permission = "read_only" | "read_write";

/** What a restricted user may be given for the whole account. */
export type GlobalGrant = "account_read" | "account_write" | "add_databases" | "add_images";

export type Access = {
  /** What a token must carry. All of them; none: any token will do. */
  scopes: readonly Scope[];
  /** A restricted user is refused, whatever the scopes say. */
  unrestrictedOnly?: true;
  /** A restricted user needs this one. */
  grant?: GlobalGrant;
  /** The object that the path names, and what a restricted user needs on it. */
  entity?: { type: EntityType; param: string; permission: Permission };
};

export type EntityType = "compute" | "database" | "image";
/** For `entity.type` in X-Filter: what clients of this family say. */
export const entityAliases = { "entity.type": { linode: "compute" } } as const;

/** How a field may be compared in X-Filter. */
export type FilterKind = "string" | "number" | "boolean" | "date";

/** How often a caller may use an operation; the figures are the operator's settings. */
export type RateClass = "single" | "collection" | "accept" | "images";

export type Operation = {
  id: string;
  summary: string;
  /** What a caller must know besides, and no other field says. */
  note?: string;
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
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: `/v4/${string}`;
  /** Other paths that clients of this family use. */
  aliases?: readonly `/v4/${string}`[];
  /** An older operation of the interface that does the same, published as deprecated. */
  former?: { id: string; path: `/v4/${string}` };
  /** Still published, but something else should be used. */
  deprecated?: true;
  access: Access | "public";
  /** A public operation shows more to a token, which must carry these. */
  scopesIfSent?: readonly Scope[];
  params?: z.ZodObject;
  /** A parameter whose value holds a slash, such as `mysql/9.7.4`: clients send it raw or encoded. */
  slashParam?: string;
  body?: z.ZodObject;
  /** Fields of the body that never change: they are taken because clients send whole objects back. */
  fixed?: readonly string[];
  /** Settings that others of this family have and we do not: with a value they are refused, not ignored. */
  notOffered?: readonly string[];
  /** The body is a file of one of these types, in place of JSON. */
  upload?: { types: readonly string[]; mostBytes: number };
  /** The answer is a file of this type, in place of JSON. */
  download?: string;
  /** When the answer is 204 without a body. */
  mayBeEmpty?: string;
  /** When the answer is 409. */
  conflict?: string;
  /** The process that takes it, if not `api`: what its body carries must not reach another. */
  servedBy?: "cards";
  /** What else the query string may say, all of it optional. Other keys are ignored. */
  query?: z.ZodObject;
  /** A collection answers in the page envelope, takes `page` and `page_size`, and X-Filter over these fields. */
  paged?: true;
  filterable?: Readonly<Record<string, FilterKind>>;
  /** Filterable fields that a list cannot be ordered by. */
  unorderable?: readonly string[];
  /** By field: what clients of this family call a value that has another name here. */
  filterAliases?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  rate: RateClass;
  /** How long a client may keep the answer; most are not to be kept. */
  cacheSeconds?: number;
  /** The events that it can leave behind. */
  emits?: readonly EventAction[];
  /** It ends the caller's own token: a repeat with its Idempotency-Key is answered to whoever held that token. */
  endsAccount?: true;
  /** The reply is not kept in clear for a repeated request. */
  secretReply?: true;
  reply: z.ZodType;
};

export const defineOperation = <const O extends Operation>(operation: O): O => operation;

/** Every path that it is served at. */
export const pathsOf = ({ path, aliases = [], former }: Operation): `/v4/${string}`[] => [
  path,
  ...aliases,
  ...(former === undefined ? [] : [former.path]),
];
