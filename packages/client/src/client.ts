import type { AnyOperation, Event, EventAction } from "@moorage/contract";
import type { AnyInput, InputOf, ReplyOf } from "./operation-input.ts";
import { type Request, send } from "./send.ts";
import { newestEventId, type WaitedFor, waitForEvent, type Waiting } from "./wait-for.ts";

type PagedOperation = AnyOperation & { paged: true };
type EmittingOperation = AnyOperation & { emits: readonly [EventAction, ...EventAction[]] };
type ItemOf<O extends AnyOperation> = ReplyOf<O> extends { data: (infer Item)[] } ? Item : never;

export type Client = {
  /** Calls any operation of the contract. */
  call<const O extends AnyOperation>(operation: O, ...input: InputOf<O>): Promise<ReplyOf<O>>;
  /** All items of a collection; pages are fetched as needed. */
  items<const O extends PagedOperation>(operation: O, ...input: InputOf<O>): AsyncGenerator<ItemOf<O>>;
  /** Waits until an event has ended: a known one, or the newest of a kind. Throws `EventFailed` if it failed. */
  waitFor(event: { id: number } | (WaitedFor & Waiting), how?: Waiting): Promise<Event>;
  /** Calls an operation and waits for the event that it emits; older events are ignored. */
  callAndWait<const O extends EmittingOperation>(
    operation: O,
    input: InputOf<O>[0],
    how?: Waiting,
  ): Promise<{ reply: ReplyOf<O>; event: Event }>;
};

export type ClientOptions = {
  url: string;
  /** Without a token only public operations can be called. */
  token?: string;
  /** Per attempt. */
  timeoutMs?: number;
  /** Maximum number of attempts, including the first. */
  tries?: number;
  /** Called with the body fields that the server does not know: they had no effect. */
  onIgnored?: (fields: string, operation: AnyOperation) => void;
  /** Replaces the global one: for a proxy, a private authority, or to inspect requests. */
  fetch?: typeof fetch;
};

/** The API, typed by its table of operations. */
export function createClient(options: ClientOptions): Client {
  const { url, token, timeoutMs = 60_000, tries = 4 } = options;
  const base = url.replace(/\/+$/, "");
  // Looked up at each call, so that a fetch replaced later is used.
  const sender = {
    timeoutMs,
    tries,
    onIgnored: options.onIgnored,
    fetch: options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request)),
  };
  const request = (operation: AnyOperation, input: AnyInput = {}): Promise<unknown> =>
    send(sender, requestOf(base, token, operation, input));

  const client: Client = {
    // The server uses the same table; additional fields of a newer server do no harm.
    call: (operation, ...[input]) => request(operation, input as AnyInput | undefined) as never,

    async *items(operation, ...[input]) {
      const callInput = (input ?? {}) as AnyInput;
      for (let page = Number(callInput.query?.["page"] ?? 1); ; page++) {
        const reply = await request(operation, { ...callInput, query: { ...callInput.query, page } });
        const { data, pages } = reply as { data: never[]; pages: number };
        yield* data;
        if (page >= pages) return;
      }
    },

    waitFor: (event, how = "action" in event ? event : {}) => waitForEvent(client, event, how),

    async callAndWait(operation, input, how = {}) {
      const callInput = (input ?? {}) as AnyInput;
      const sending = how.signal === undefined ? {} : { signal: how.signal };
      const after = await newestEventId(client, sending);
      const reply = await request(operation, { ...sending, ...callInput });
      const id = entityIdOf(operation, callInput, reply);
      const waited = { action: operation.emits[0], after, ...(id === undefined ? {} : { entity: { id } }) };
      return { reply: reply as never, event: await waitForEvent(client, waited, how) };
    },
  };
  return client;
}

/** Builds the HTTP request. A POST gets an idempotency key, so that a retry is not carried out twice. */
function requestOf(base: string, token: string | undefined, operation: AnyOperation, input: AnyInput): Request {
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

/** Header values must be ASCII. */
const asciiJson = (value: object): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

function pathOf({ path }: AnyOperation, { params = {}, query = {} }: AnyInput): string {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value as string | number)]],
  );
  return pairs.length === 0 ? filled : `${filled}?${new URLSearchParams(pairs).toString()}`;
}

const bodyOf = ({ body, file }: AnyInput): RequestInit =>
  file !== undefined ? { body: file.bytes } : body === undefined ? {} : { body: JSON.stringify(body) };

const readerOf = ({ download }: AnyOperation): ((reply: Response) => Promise<unknown>) =>
  download === undefined ? (reply) => reply.json() : async (reply) => new Uint8Array(await reply.arrayBuffer());

/** The entity of the event to wait for: the one in the path, or the created one. */
function entityIdOf({ params }: AnyOperation, input: AnyInput, reply: unknown): number | string | undefined {
  const named = Object.keys(params?.shape ?? {})[0];
  const made = typeof reply === "object" && reply !== null && "id" in reply ? reply.id : undefined;
  const id = named === undefined ? made : input.params?.[named];
  // Events contain the bare number of an image.
  const bare = /^(?:private\/)?(\d+)$/.exec(String(id))?.[1];
  return bare === undefined ? undefined : Number(bare);
}
