import type { Operation } from "@moorage/contract";
import type { AnyInput } from "./operation-input.ts";
import type { Request } from "./send.ts";

/** Builds the HTTP request. A POST gets an idempotency key, so that a retry is not carried out twice. */
export function requestOf(base: string, token: string | undefined, operation: Operation, input: AnyInput): Request {
  const key = operation.method === "POST" ? (input.idempotencyKey ?? crypto.randomUUID()) : undefined;
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...contentType(input),
    ...(input.filter === undefined ? {} : { "x-filter": asciiJson(input.filter) }),
    ...(key === undefined ? {} : { "idempotency-key": key }),
  };
  return {
    operation,
    url: `${base}${pathOf(operation, input)}`,
    init: { method: operation.method, headers, ...bodyOf(input) },
    signal: input.signal,
    read: readerOf(operation),
  };
}

const contentType = ({ body, file }: AnyInput): Record<string, string> =>
  file !== undefined ? { "content-type": file.type } : body === undefined ? {} : { "content-type": "application/json" };

const bodyOf = ({ body, file }: AnyInput): RequestInit =>
  file !== undefined ? { body: file.bytes } : body === undefined ? {} : { body: JSON.stringify(body) };

const readerOf = ({ download }: Operation): ((reply: Response) => Promise<unknown>) =>
  download === undefined ? (reply) => reply.json() : async (reply) => new Uint8Array(await reply.arrayBuffer());

function pathOf({ path }: Operation, { params = {}, query = {} }: AnyInput): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value as string | number)]],
  );
  return pairs.length === 0 ? filled : `${filled}?${new URLSearchParams(pairs).toString()}`;
}

/** Header values must be ASCII. */
const asciiJson = (value: object): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
