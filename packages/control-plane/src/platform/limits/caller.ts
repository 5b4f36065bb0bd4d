import { isIPv4 } from "node:net";
import type { Text } from "@moorage/contract/texts";
import type { FastifyReply } from "fastify";
import type { Group, RateState } from "./gcra.ts";
import { texts } from "./texts.ts";

/** Whose budgets a request spends: the caller's own, and one that is shared with others and larger. */
export type Caller = { own: string; group?: { kind: Group; name: string } };

export const callerOf = {
  token: ({ tokenId, accountId }: { tokenId: number; accountId: number }): Caller => ({
    own: `token:${tokenId}`,
    group: { kind: "account", name: `account:${accountId}` },
  }),
  anonymous: (ip: string): Caller => fromAddress("ip", ip),
  /** Separate from the anonymous budget: reading public lists too often is not guessing tokens. */
  guess: (ip: string): Caller => fromAddress("guess", ip),
};

function fromAddress(kind: string, ip: string): Caller {
  const own = `${kind}:${networkOf(ip)}`;
  const site = siteOf(ip);
  return site === undefined ? { own } : { own, group: { kind: "network", name: `${kind}:${site}` } };
}

/** One customer of a provider holds a whole IPv6 /64, and could send each request from another of its addresses. */
export function networkOf(ip: string): string {
  const groups = groupsOf(ip);
  return groups === undefined ? (mappedIPv4(ip) ?? ip) : `${groups.slice(0, 4).join(":")}::/64`;
}

/** Anybody gets an IPv6 /48 for nothing: 65,536 networks. An IPv4 address is in no such network. */
export function siteOf(ip: string): string | undefined {
  const groups = groupsOf(ip);
  return groups === undefined ? undefined : `${groups.slice(0, 3).join(":")}::/48`;
}

function mappedIPv4(ip: string): string | undefined {
  const mapped = /^::ffff:([\d.]+)$/i.exec(ip)?.[1];
  return mapped !== undefined && isIPv4(mapped) ? mapped : undefined;
}

/** The eight groups of an IPv6 address, without leading zeros; undefined for IPv4. */
function groupsOf(ip: string): string[] | undefined {
  if (!ip.includes(":") || mappedIPv4(ip) !== undefined) return undefined;
  const [left = "", right] = ip.toLowerCase().replace(/%.*$/, "").split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const head = groups(left);
  const tail = right === undefined ? [] : groups(right);
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0");
  const whole = [...head, ...(right === undefined ? [] : zeros), ...tail];
  return whole.map((group) => group.replace(/^0+(?=.)/, ""));
}

/** Every response says what is left of the budget; once nothing is left, the request is refused. */
export function applyRate(reply: FastifyReply, state: RateState): void {
  reply.header("x-ratelimit-limit", state.limit);
  reply.header("x-ratelimit-remaining", state.remaining);
  reply.header("x-ratelimit-reset", Math.ceil(state.resetAt.getTime() / 1000));
  if (state.allowed) return;
  reply.header("retry-after", state.retryAfter);
  throw new TooManyRequests(reasonOf(state));
}

/** A caller with this many requests in flight: one of them is answered soon. */
export function refuseCrowd(reply: FastifyReply, most: number): never {
  reply.header("retry-after", 1);
  throw new TooManyRequests(texts.tooManyAtOnce({ most }));
}

function reasonOf({ sharedBy, limit, retryAfter }: RateState): Text {
  if (sharedBy === undefined) return texts.tooManyRequests();
  const spent = { requests: limit, seconds: retryAfter };
  return sharedBy === "account" ? texts.tooManyOfAccount(spent) : texts.tooManyOfNetwork(spent);
}

export class TooManyRequests extends Error {
  override readonly name = "TooManyRequests";
  readonly statusCode = 429;
  readonly reason: Text;
  constructor(reason: Text = texts.tooManyRequests()) {
    super(reason.text);
    this.reason = reason;
  }
}
