import type { DatabaseBackup, Event, MysqlDatabase, Notification } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import { env } from "./stack-env.ts";

export type Reply<Body> = { status: number; body: Body };

/** A kept connection may be closed by the server at the moment of its next use, which says nothing of the server. */
const isClosedConnection = (error: unknown): boolean =>
  error instanceof TypeError && (error.cause as { code?: string } | undefined)?.code === "UND_ERR_SOCKET";

/** On a busy machine the hosts of a cluster may not report three healthy nodes for a moment. */
const isUnhealthyNow = ({ status, body }: Reply<unknown>): boolean =>
  status === 400 && /that is degraded|Cannot switch over this database/.test(JSON.stringify(body));

const HEALTHY_WITHIN_MS = 600_000;

/** The answer of a healthy database. A refused request had no effect, and is sent again. */
async function whenHealthy<Body>(request: () => Promise<Reply<Body>>): Promise<Reply<Body>> {
  const deadline = Date.now() + HEALTHY_WITHIN_MS;
  for (;;) {
    const reply = await request();
    if (!isUnhealthyNow(reply) || Date.now() > deadline) return reply;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** A tenant who sends HTTP requests to the front, as `curl` would. */
export function tenant(token = env("MOORAGE_TOKEN"), url = env("MOORAGE_URL")) {
  const call = async <Body>(
    method: string,
    path: string,
    body?: object,
    headers: object = {},
  ): Promise<Reply<Body>> => {
    const send = (): Promise<Response> =>
      fetch(new URL(path, url), {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(120_000),
      });
    const reply = await send().catch((error: unknown) => {
      if (method === "GET" && isClosedConnection(error)) return send();
      throw error;
    });
    return { status: reply.status, body: (reply.status === 204 ? undefined : await reply.json()) as Body };
  };
  /** A file instead of JSON. */
  const send = (method: string, path: string, file?: { type: string; bytes: Uint8Array<ArrayBuffer> }) =>
    fetch(new URL(path, url), {
      method,
      headers: { authorization: `Bearer ${token}`, ...(file === undefined ? {} : { "content-type": file.type }) },
      ...(file === undefined ? {} : { body: file.bytes }),
      signal: AbortSignal.timeout(120_000),
    });
  const instances = "/v4/databases/mysql/instances";
  const own = {
    call,
    send,
    create: (label: string, key?: string, more: object = {}) =>
      call<MysqlDatabase>(
        "POST",
        instances,
        {
          label,
          region: env("MOORAGE_REGION"),
          type: env("MOORAGE_TYPE"),
          engine: env("MOORAGE_ENGINE"),
          allow_list: [env("MOORAGE_CLIENT_A_ADDR")],
          ...more,
        },
        key === undefined ? {} : { "idempotency-key": key },
      ),
    view: (id: number) => call<MysqlDatabase>("GET", `${instances}/${id}`),
    list: async (): Promise<MysqlDatabase[]> =>
      (await call<{ data: MysqlDatabase[] }>("GET", `${instances}?page_size=500`)).body.data,
    update: (id: number, change: object) => call<MysqlDatabase>("PUT", `${instances}/${id}`, change),
    ssl: (id: number) => call<{ ca_certificate: string | null }>("GET", `${instances}/${id}/ssl`),
    delete: (id: number) => call<object>("DELETE", `${instances}/${id}`),
    /** `suspend`, `credentials/reset`, `backups/7/restore`, … */
    act: (id: number, what: string, body?: object) => call<object>("POST", `${instances}/${id}/${what}`, body),
    backups: async (id: number): Promise<DatabaseBackup[]> =>
      (await call<{ data: DatabaseBackup[] }>("GET", `${instances}/${id}/backups`)).body.data,
    deleteBackup: (id: number, backup: number) => call<object>("DELETE", `${instances}/${id}/backups/${backup}`),
    notifications: async (): Promise<Notification[]> =>
      (await call<{ data: Notification[] }>("GET", "/v4/account/notifications")).body.data,
    credentials: async (id: number) =>
      (await call<{ username: string; password: string }>("GET", `${instances}/${id}/credentials`)).body,
    events: async (id: number): Promise<Event[]> =>
      (await call<{ data: Event[] }>("GET", "/v4/account/events")).body.data.filter((event) => event.entity?.id === id),

    untilStatus: (id: number, status: MysqlDatabase["status"], seconds = 60): Promise<MysqlDatabase> =>
      until(`database ${id} is ${status}`, seconds, async () => {
        const { body } = await own.view(id);
        return body.status === status && body;
      }),
    untilEvent: (id: number, action: Event["action"], seconds = 60): Promise<Event> =>
      until(`event ${action} of ${id} is finished`, seconds, async () =>
        (await own.events(id)).find((event) => event.action === action && event.status === "finished"),
      ),

    /** The newest event of this kind, once it has finished or failed. */
    untilEnded: (id: number, action: Event["action"], seconds = 60): Promise<Event> =>
      until(`event ${action} of ${id} has ended`, seconds, async () => {
        const newest = (await own.events(id)).find((event) => event.action === action);
        return newest !== undefined && newest.status !== "started" && newest;
      }),
    /** Sends the request and waits until its event has ended; throws if it failed. */
    actAndWait: async (
      id: number,
      what: string,
      action: Event["action"],
      body?: object,
      seconds = 120,
    ): Promise<Event> => {
      const before = (await own.events(id))[0]?.id ?? 0;
      const { status, body: reply } = await whenHealthy(() => own.act(id, what, body));
      if (status !== 200) throw new Error(`${what} was refused: ${status} ${JSON.stringify(reply)}`);
      const ended = await until(`${what} of ${id} has ended`, seconds, async () =>
        (await own.events(id)).find(
          (event) => event.id > before && event.action === action && event.status !== "started",
        ),
      );
      if (ended.status === "failed") throw new Error(`${what} failed: ${ended.message}`);
      return ended;
    },

    /** Like a client that got no answer: checks before it repeats the request, so that it never creates two. */
    createSurely: (label: string, seconds = 60, more: object = {}): Promise<MysqlDatabase> =>
      until(`create of ${label} is accepted`, seconds, async () => {
        const found = (await own.list()).find((database) => database.label === label);
        if (found !== undefined) return found;
        const { status, body } = await own.create(label, undefined, more);
        return status === 200 && body;
      }),
    /** Sets the allow list, and returns when the hosts have applied it. */
    admit: async (id: number, sources: readonly string[]): Promise<void> => {
      const { status, body } = await whenHealthy(() => own.update(id, { allow_list: sources }));
      if (status !== 200) throw new Error(`The list was refused: ${status} ${JSON.stringify(body).slice(0, 200)}`);
      await own.untilStatus(id, "active");
    },
    /** Like a client that got no answer: a list that is already set is not sent again. */
    updateSurely: (id: number, allow_list: readonly string[], seconds = 60): Promise<unknown> =>
      until(`update of ${id} is accepted`, seconds, async () => {
        const { status, body } = await own.view(id);
        if (status === 200 && body.allow_list.join() === allow_list.join()) return true;
        return (await own.update(id, { allow_list })).status === 200;
      }),
    deleteSurely: (id: number, seconds = 60): Promise<boolean> =>
      until(`delete of ${id} is accepted`, seconds, async () => {
        const { status } = await own.delete(id);
        return status === 200 || status === 404;
      }),
  };
  return own;
}
export type Tenant = ReturnType<typeof tenant>;
