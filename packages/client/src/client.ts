import type { Event, EventAction, Operation } from "@moorage/contract";
import type { AnyInput, InputOf, ReplyOf } from "./operation-input.ts";
import { requestOf } from "./request.ts";
import { send } from "./send.ts";
import { newestEventId, type WaitedFor, waitForEvent, type Waiting } from "./wait-for.ts";

type PagedOperation = Operation & { paged: true };
type EmittingOperation = Operation & { emits: readonly [EventAction, ...EventAction[]] };
type ItemOf<O extends Operation> = ReplyOf<O> extends { data: (infer Item)[] } ? Item : never;

export type Client = {
  /** Calls any operation of the contract. */
  call<const O extends Operation>(operation: O, ...input: InputOf<O>): Promise<ReplyOf<O>>;
  /** Every item of a collection, page by page as they are asked for. */
  items<const O extends PagedOperation>(operation: O, ...input: InputOf<O>): AsyncGenerator<ItemOf<O>>;
  /** Waits until an event has ended: one that is known, or the newest of a kind. Throws `EventFailed` if it failed. */
  waitFor(event: { id: number } | (WaitedFor & Waiting), how?: Waiting): Promise<Event>;
  /** Calls an operation and waits for the event that it leaves behind, and for no older one. */
  callAndWait<const O extends EmittingOperation>(
    operation: O,
    input: InputOf<O>[0],
    how?: Waiting,
  ): Promise<{ reply: ReplyOf<O>; event: Event }>;
};

export type ClientOptions = {
  url: string;
  /** Without one only public operations can be called. */
  token?: string;
  /** Of one try. */
  timeoutMs?: number;
  /** How often a request is sent at most, the first time counted. */
  tries?: number;
  /** Told of fields of a body that the server does not know: they had no effect. */
  onIgnored?: (fields: string, operation: Operation) => void;
  /** In place of the global one: for a proxy, a private authority, or to look at what is sent. */
  fetch?: typeof fetch;
};

/** The API, typed by its operation table. */
export function createClient(options: ClientOptions): Client {
  const { url, token, timeoutMs = 60_000, tries = 4 } = options;
  const base = url.replace(/\/+$/, "");
  // Looked up at each call, so that a fetch that was replaced later is used.
  const sender = {
    ...{ timeoutMs, tries, onIgnored: options.onIgnored },
    fetch: options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request)),
  };
  const request = (operation: Operation, input: AnyInput = {}): Promise<unknown> =>
    send(sender, requestOf(base, token, operation, input));

  const client: Client = {
    // The server answers by the same table; a newer one may say more than this one knows, which does no harm.
    call: (operation, ...[input]) => request(operation, input) as never,

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

/** The object whose event it will be: the one that the path names, or the one that was made. */
function entityIdOf({ params }: Operation, input: AnyInput, reply: unknown): number | string | undefined {
  const named = Object.keys(params?.shape ?? {})[0];
  const made = typeof reply === "object" && reply !== null && "id" in reply ? reply.id : undefined;
  const id = named === undefined ? made : input.params?.[named];
  // Events carry the bare number of an image.
  const bare = /^(?:private\/)?(\d+)$/.exec(String(id))?.[1];
  return bare === undefined ? undefined : Number(bare);
}
