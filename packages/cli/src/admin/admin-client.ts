import { ApiError, type Client, createClient, NoAnswer } from "@moorage/client";
import type { OperatorOperation } from "@moorage/contract";
import { Refused } from "../refused.ts";
import type { Terminal } from "../terminal.ts";
import { texts } from "../texts.ts";

/** As long as the longest operation: `recover` waits for its hosts. */
const TIMEOUT_MS = 400_000;

type Call = Client["call"];
export type AdminClient = {
  call: Call;
  /** All items of a list, from all of its pages. */
  all(operation: OperatorOperation, input: object): Promise<unknown[]>;
};

/** The client for operator commands; address and token come from the environment. */
export function createAdminClient(env: Terminal["env"]): AdminClient {
  const [url, token] = [settingOf(env, "MOORAGE_ADMIN_URL"), settingOf(env, "MOORAGE_OPERATOR_TOKEN")];
  // A command is repeated by the operator, who sees why it failed.
  const client = createClient({ url, token, timeoutMs: TIMEOUT_MS, tries: 1 });
  const explained = (error: unknown): never => {
    throw asRefused(error, url);
  };
  const call: Call = (operation, ...input) => client.call(operation, ...input).catch(explained);
  return {
    call,
    async all(operation, input) {
      if (operation.paged !== true) return ((await call(operation, input as never)) as { data: unknown[] }).data;
      const { query = {} } = input as { query?: object };
      const found: unknown[] = [];
      for (let page = 1, pages = 1; page <= pages; page++) {
        const whole = { ...input, query: { ...query, page, page_size: 500 } };
        const reply = (await call(operation, whole as never)) as { data: unknown[]; pages: number };
        found.push(...reply.data);
        pages = reply.pages;
      }
      return found;
    },
  };
}

/** As it was typed: the interface explains what is wrong with it. */
export const idAsTyped = (text: string): number => text as unknown as number;

export function settingOf(env: Terminal["env"], name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Refused(texts.settingMissing({ name }));
  return value;
}

function asRefused(error: unknown, url: string): unknown {
  if (error instanceof NoAnswer) return new Refused(texts.adminUnreachable({ url, reason: error.reason }));
  if (!(error instanceof ApiError)) return error;
  const { status, errors, isOfApi } = error;
  if (!isOfApi) return new Refused(texts.adminAnswerInvalid({ url, status }));
  if (status === 401) return new Refused(texts.operatorTokenInvalid());
  return new Refused(texts.apiRefused({ reasons: errors.map(({ reason }) => reason) }), errors);
}
