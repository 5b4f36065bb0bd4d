import { ErrorReply } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { texts } from "./texts.ts";

/** The API's errors have a field, those of the command line a code. */
export type ErrorForPrograms = ErrorReply["errors"][number] & { code?: string };

/** An error that a person can act on: the control plane's own message, or one of the command line. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: string;
  /** For `--json`: as the API sent them, or this error. */
  readonly errors: readonly ErrorForPrograms[];
  constructor({ code, text }: Text, errors: readonly ErrorForPrograms[] = [{ code, reason: text }]) {
    super(text);
    this.code = code;
    this.errors = errors;
  }
}

export type AdminClient = {
  get<T>(path: string): Promise<T>;
  /** All items of a list, from all of its pages. */
  all<T>(path: string): Promise<T[]>;
  post<T>(path: string, body: object): Promise<T>;
  put<T>(path: string, body: object): Promise<T>;
};

type Page<T> = { data: T[]; pages?: number };

export function createAdminClient(url: string, token: string): AdminClient {
  const call = async <T>(path: string, init: RequestInit): Promise<T> => {
    const reply = await fetch(new URL(path, url), {
      ...init,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    }).catch((error: Error) => {
      throw new Refused(texts.adminUnreachable({ url, reason: reasonOf(error) }));
    });
    const body: unknown = await reply.json().catch(() => undefined);
    if (reply.ok) return body as T;
    const refusal = ErrorReply.safeParse(body);
    if (!refusal.success) throw new Refused(texts.adminAnswerInvalid({ url, status: reply.status }));
    if (reply.status === 401) throw new Refused(texts.operatorTokenInvalid());
    const { errors } = refusal.data;
    throw new Refused(texts.apiRefused({ reasons: errors.map(({ reason }) => reason) }), errors);
  };
  const get = <T>(path: string): Promise<T> => call(path, { method: "GET" });
  return {
    get,
    async all<T>(path: string) {
      const found: T[] = [];
      for (let page = 1, pages = 1; page <= pages; page++) {
        const reply = await get<Page<T>>(`${path}${path.includes("?") ? "&" : "?"}page=${page}&page_size=500`);
        found.push(...reply.data);
        pages = reply.pages ?? 1;
      }
      return found;
    },
    post: (path, body) => call(path, { method: "POST", body: JSON.stringify(body) }),
    put: (path, body) => call(path, { method: "PUT", body: JSON.stringify(body) }),
  };
}

const reasonOf = ({ message, cause }: Error): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : message;
