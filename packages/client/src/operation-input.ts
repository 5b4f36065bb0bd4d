import type { AnyOperation } from "@moorage/contract";
import type { z } from "zod";

type Value = string | number | boolean | null;
type Comparison = { [Operator in "+gt" | "+gte" | "+lt" | "+lte" | "+neq" | "+contains"]?: Value };
type Condition = Value | Comparison | { "+and": Condition[] } | { "+or": Condition[] };

/** X-Filter over the fields of one collection, some of which can be ordered by. */
export type FilterOver<Field extends string, Orderable extends string = Field> = { [Name in Field]?: Condition } & {
  "+and"?: FilterOver<Field>[];
  "+or"?: FilterOver<Field>[];
  "+order_by"?: Orderable;
  "+order"?: "asc" | "desc";
};

type Params<O extends AnyOperation> = O["params"] extends z.ZodObject ? { params: z.output<O["params"]> } : object;
type Body<O extends AnyOperation> = O["upload"] extends { types: readonly (infer Type extends string)[] }
  ? { file: { bytes: Uint8Array<ArrayBuffer>; type: Type } }
  : O["body"] extends z.ZodObject
    ? { body: z.input<O["body"]> }
    : object;
type Query<O extends AnyOperation> = O["paged"] extends true
  ? { query?: { page?: number; page_size?: number } & FieldsOfQuery<O> }
  : O["query"] extends z.ZodObject
    ? { query?: FieldsOfQuery<O> }
    : object;
type FieldsOfQuery<O extends AnyOperation> = O["query"] extends z.ZodObject ? z.input<O["query"]> : object;
type Filter<O extends AnyOperation> = O extends { filterable: infer Fields }
  ? { filter?: FilterOver<keyof Fields & string, Exclude<keyof Fields & string, Unorderable<O>>> }
  : object;
type Unorderable<O> = O extends { unorderable: readonly (infer Field)[] } ? Field : never;
type Key<O extends AnyOperation> = O["method"] extends "POST" ? { idempotencyKey?: string } : object;

/** The input of a call; fields that the operation does not know are type errors. */
export type OperationInput<O extends AnyOperation> = Params<O> & Body<O> & Query<O> & Filter<O> & Key<O> & Sending;
export type Sending = { signal?: AbortSignal };

/** The input is optional where nothing in it is required. */
export type InputOf<O extends AnyOperation> =
  object extends OperationInput<O> ? [input?: OperationInput<O>] : [input: OperationInput<O>];

/** Undefined is a reply without a body, for operations that allow it. */
export type ReplyOf<O extends AnyOperation> =
  | z.output<O["reply"]>
  | (O["mayBeEmpty"] extends string ? undefined : never);

/** The same without types, for the code that sends the request. */
export type AnyInput = Sending & {
  params?: Record<string, unknown>;
  body?: unknown;
  file?: { bytes: Uint8Array<ArrayBuffer>; type: string };
  query?: Record<string, unknown>;
  filter?: object;
  idempotencyKey?: string;
};
