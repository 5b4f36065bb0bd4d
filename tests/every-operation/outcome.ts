import type { Operation } from "@moorage/contract";
import type { World } from "../../packages/control-plane/src/testing/world.ts";
import type { Target } from "./stage.ts";

export type Reply = { status: number; text: string; headers: Record<string, unknown> };

export type Outcome = "allowed" | "no token" | `lacks ${string}` | "forbidden" | "not found";

/** Differs between any two replies, whatever they are about. */
const ofTheMoment = ["date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"];

export const fillPath = (path: string, { params }: Target): string =>
  path.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`stage.ts does not know what :${name} can be`);
    return encodeURIComponent(value);
  });

/** A body is empty: whoever is told that it is not valid was let in. */
export async function ask(
  world: World,
  operation: Operation,
  path: string,
  authorization: string | undefined,
): Promise<Reply> {
  const reply = await world.send({
    method: operation.method,
    url: path,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(operation.body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(operation.body === undefined ? {} : { payload: "{}" }),
  });
  const headers = Object.entries(reply.headers).filter(([name]) => !ofTheMoment.includes(name));
  return { status: reply.statusCode, text: reply.payload, headers: Object.fromEntries(headers) };
}

/** What is wrong with a reply, if anything. */
export function faultOf(operation: Operation, reply: Reply, expected: Outcome): string | undefined {
  const wanted = `expected ${expected}, got ${reply.status} ${reply.text.slice(0, 200)}`;
  if (reply.headers["content-type"] !== "application/json")
    return `content-type ${String(reply.headers["content-type"])}`;
  const letIn = reply.status === 200 || (reply.status === 400 && operation.body !== undefined);
  return (expected === "allowed" ? letIn : isRefusal(reply, expected)) ? undefined : wanted;
}

function isRefusal({ status, text }: Reply, expected: Exclude<Outcome, "allowed">): boolean {
  const { errors = [] } = JSON.parse(text) as { errors?: { reason: string; field?: string }[] };
  const reason = errors.length === 1 && errors[0]?.field === undefined ? (errors[0]?.reason ?? "") : "";
  if (expected === "no token") return status === 401 && reason === "Invalid Token";
  if (expected === "forbidden") return status === 403 && reason.startsWith("Unauthorized");
  if (expected === "not found") return status === 404 && reason === "Not found";
  return (
    status === 401 &&
    expected
      .slice("lacks ".length)
      .split(" ")
      .every((scope) => reason.includes(scope))
  );
}
