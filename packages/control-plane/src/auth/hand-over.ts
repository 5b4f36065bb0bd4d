import { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Provider } from "oidc-provider";

type Change = { url?: string; form?: URLSearchParams; accept?: string };
export type HandOver = (request: FastifyRequest, reply: FastifyReply, change?: Change) => Promise<void>;

/**
 * The headers that the provider uses. Forwarding headers are not among them: a caller must not choose the server's
 * address.
 */
const passedOn = ["cookie", "authorization", "origin", "accept", "access-control-request-method"] as const;
const alsoPassedOn = ["access-control-request-headers", "user-agent"] as const;

/**
 * Passes a request to the provider, rebuilt: with our public address, the relevant headers, and a URL-encoded form, the
 * only encoding that the provider reads.
 */
export function createHandOver(provider: Provider): HandOver {
  const answer = provider.callback();
  const { protocol, host } = new URL(provider.issuer);
  return async (request, reply, { url, form, accept } = {}) => {
    const again = new IncomingMessage(request.raw.socket);
    again.method = request.method;
    again.url = url ?? request.url;
    for (const name of [...passedOn, ...alsoPassedOn]) {
      const value = request.headers[name];
      if (value !== undefined) again.headers[name] = value;
    }
    Object.assign(again.headers, { host, "x-forwarded-host": host, "x-forwarded-proto": protocol.slice(0, -1) });
    again.headers["x-forwarded-for"] = request.ip;
    if (accept !== undefined) again.headers.accept = accept;
    if (form !== undefined) {
      const body = Buffer.from(form.toString());
      again.headers["content-type"] = "application/x-www-form-urlencoded";
      again.headers["content-length"] = String(body.length);
      again.push(body);
    }
    again.push(null);
    // The whole body is here: otherwise its end would look as if the caller had disconnected.
    again.complete = true;
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    reply.hijack();
    await answer(again, reply.raw);
  };
}
