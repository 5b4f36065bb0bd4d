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

export type EntityType = "database" | "image";

/** How a field may be compared in X-Filter. */
export type FilterKind = "string" | "number" | "boolean" | "date";

/** How often a caller may use an operation; the figures are the operator's settings. */
export type RateClass = "single" | "collection";

export type Operation = {
  id: string;
  summary: string;
  tag: "Account" | "Databases" | "Events" | "OAuth clients" | "Profile" | "Regions and types" | "Users";
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: `/v4/${string}`;
  /** Other paths that clients of this family use. */
  aliases?: readonly `/v4/${string}`[];
  access: Access | "public";
  params?: z.ZodObject;
  /** A parameter whose value holds a slash, such as `mysql/9.7.4`: clients send it raw or encoded. */
  slashParam?: string;
  body?: z.ZodObject;
  /** The body is a file of one of these types, in place of JSON. */
  upload?: { types: readonly string[]; mostBytes: number };
  /** The answer is a file of this type, in place of JSON. */
  download?: string;
  /** When the answer is 204 without a body. */
  mayBeEmpty?: string;
  /** What else the query string may say, all of it optional. Other keys are ignored. */
  query?: z.ZodObject;
  /** A collection answers in the page envelope, takes `page` and `page_size`, and X-Filter over these fields. */
  paged?: true;
  filterable?: Readonly<Record<string, FilterKind>>;
  rate: RateClass;
  /** How long a client may keep the answer; most are not to be kept. */
  cacheSeconds?: number;
  /** The events that it can leave behind. */
  emits?: readonly EventAction[];
  /** The reply is not kept in clear for a repeated request. */
  secretReply?: true;
  reply: z.ZodType;
};

export const defineOperation = <const O extends Operation>(operation: O): O => operation;
