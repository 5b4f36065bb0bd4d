import type { Event, Operation } from "@moorage/contract";
import type { AnyInput, InputOf, ReplyOf } from "./operation-input.ts";
import { send } from "./send.ts";
import { type WaitedFor, waitForEvent } from "./wait-for.ts";

type PagedOperation = Operation & { paged: true };
type ItemOf<O extends Operation> = ReplyOf<O> extends { data: (infer Item)[] } ? Item : never;

export type Client = {
  /** Calls any operation of the contract. */
  call<const O extends Operation>(operation: O, ...input: InputOf<O>): Promise<ReplyOf<O>>;
  /** Every item of a collection, page by page as they are asked for. */
  items<const O extends PagedOperation>(operation: O, ...input: InputOf<O>): AsyncGenerator<ItemOf<O>>;
  /** Waits until the newest event of this kind has ended; throws `EventFailed` if it failed. */
  waitFor(event: WaitedFor): Promise<Event>;
};

/** The API, typed by its operation table. Without a token only public operations can be called. */
export function createClient({ url, token }: { url: string; token?: string }): Client {
  const base = url.replace(/\/+$/, "");

  const request = (operation: Operation, input: AnyInput = {}): Promise<unknown> => {
    const key = operation.method === "POST" ? (input.idempotencyKey ?? crypto.randomUUID()) : undefined;
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...contentType(input),
      ...(input.filter === undefined ? {} : { "x-filter": asciiJson(input.filter) }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
    };
    const init: RequestInit = {
      method: operation.method,
      headers,
      ...bodyOf(input),
      ...(input.signal === undefined ? {} : { signal: input.signal }),
    };
    const repeatable = operation.method === "GET" || key !== undefined;
    return send(`${base}${pathOf(operation, input)}`, init, repeatable, readerOf(operation));
  };

  const client: Client = {
    // The server answers by the same table; a newer one may say more than this one knows, which does no harm.
    call: (operation, ...[input]) => request(operation, input) as never,

    async *items(operation, ...[input]) {
      const asked = (input ?? {}) as AnyInput;
      for (let page = Number(asked.query?.["page"] ?? 1); ; page++) {
        const reply = await request(operation, { ...asked, query: { ...asked.query, page } });
        const { data, pages } = reply as { data: never[]; pages: number };
        yield* data;
        if (page >= pages) return;
      }
    },

    waitFor: (event) => waitForEvent(client, event),
  };
  return client;
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

/** A header holds no other characters. */
const asciiJson = (value: object): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
