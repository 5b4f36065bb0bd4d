import type { Operation } from "@moorage/contract";
import type { World } from "../../packages/control-plane/src/testing/world.ts";
import { differencesOfReply, unlisted } from "./compare-fields.ts";
import { expectedReplies } from "./expected-fields.ts";
import type { Target } from "./fixture.ts";

export type Reply = { status: number; text: string; headers: Record<string, unknown> };

export type Outcome = "allowed" | "no token" | `lacks ${string}` | "not confirmed" | "forbidden" | "not found";

/** Headers that differ between any two replies. */
const ofTheMoment = ["date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"];

export const fillPath = (path: string, { params }: Target): string =>
  path.replace(/:(\w+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`stage.ts does not know what :${name} can be`);
    return encodeURIComponent(value);
  });

/** A body for operations that take one. A caller who is told that it is no object, or no image, was admitted. */
const bodyOf = ({ body, upload }: Operation, payload: string): { type: string; payload: string } | undefined =>
  upload !== undefined
    ? { type: upload.types[0] ?? "", payload: "no image" }
    : body === undefined
      ? undefined
      : { type: "application/json", payload };

/** Checked after every refusal of a principal, so it must not be the subject of one. */
export const BAD_BODY = "[]";

export async function sendRequest(
  world: World,
  operation: Operation,
  path: string,
  authorization: string | undefined,
  payload = "{}",
): Promise<Reply> {
  const body = bodyOf(operation, payload);
  const reply = await world.send({
    method: operation.method,
    url: path,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { "content-type": body.type }),
    },
    ...(body === undefined ? {} : { payload: body.payload }),
  });
  const headers = Object.entries(reply.headers).filter(([name]) => !ofTheMoment.includes(name));
  return { status: reply.statusCode, text: reply.payload, headers: Object.fromEntries(headers) };
}

const takesBody = ({ body, upload }: Operation): boolean => body !== undefined || upload !== undefined;

/** The fault of a reply, if there is one. */
export function faultOf(operation: Operation, reply: Reply, expected: Outcome): string | undefined {
  const mismatch = `expected ${expected}, got ${reply.status} ${reply.text.slice(0, 200)}`;
  const letIn = reply.status === 200 || (reply.status === 400 && takesBody(operation));
  const empty = reply.status === 204 && operation.mayBeEmpty !== undefined && reply.text === "";
  const type = reply.status === 200 ? (operation.download ?? "application/json") : "application/json";
  if (!empty && reply.headers["content-type"] !== type) return `content-type ${String(reply.headers["content-type"])}`;
  if (!(expected === "allowed" ? letIn || empty : isRefusal(reply, expected))) return mismatch;
  const faults =
    reply.status === 200 && type === "application/json" ? fieldFaultsOf(operation, JSON.parse(reply.text)) : [];
  return faults.length === 0 ? undefined : faults.join(", ");
}

/** Where the fields of a reply differ from the interface. */
export function fieldFaultsOf({ method, path, former }: Operation, body: unknown): string[] {
  const expected = expectedReplies[`${method} ${path}`] ?? expectedReplies[`${method} ${former?.path}`];
  const faults = expected === undefined ? [] : unlisted(differencesOfReply(body, expected));
  return [...new Set(faults.map(({ at, is }) => `${at} ${is}`))];
}

function isRefusal({ status, text }: Reply, expected: Exclude<Outcome, "allowed">): boolean {
  const { errors = [] } = JSON.parse(text) as { errors?: { reason: string; field?: string }[] };
  const reason = errors.length === 1 && errors[0]?.field === undefined ? (errors[0]?.reason ?? "") : "";
  if (expected === "no token") return status === 401 && reason.startsWith("Invalid Token");
  if (expected === "not confirmed")
    return status === 401 && reason.includes("mail addresses, two-factor sign-in, users, grants");
  if (expected === "forbidden") return status === 403 && reason.startsWith("Unauthorized");
  if (expected === "not found") return status === 404 && reason.startsWith("Not found: there is no ");
  return (
    status === 401 &&
    expected
      .slice("lacks ".length)
      .split(" ")
      .every((scope) => reason.includes(scope))
  );
}
