import type { z } from "zod";

/** `*` is every scope; `area:read_write` includes `area:read_only`. */
export type Scope = `${string}:read_only` | `${string}:read_write`;

export type Access = {
  /** What an OAuth or personal token must carry. All of them. */
  scopes: readonly Scope[];
  /** A restricted user is refused, whatever the scopes say. */
  unrestrictedOnly?: true;
};

export type Operation = {
  id: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: `/v4/${string}`;
  access: Access | "public";
  params?: z.ZodObject;
  body?: z.ZodObject;
  /** A collection answers in the page envelope and takes `page` and `page_size`. */
  paged?: true;
  reply: z.ZodType;
};

export const defineOperation = <const O extends Operation>(operation: O): O => operation;
