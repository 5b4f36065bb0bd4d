import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { World } from "./world.ts";

/** The world's API on a port, behind a proxy that may refuse chosen requests. With `tls` its name is `localhost`. */
export async function served(
  world: World,
  refuse: (n: number) => { status: number; headers: object } | undefined = () => undefined,
  tls?: { key: string; cert: string },
) {
  const seen: { method: string | undefined; key: string | string[] | undefined }[] = [];
  const answer = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    seen.push({ method: request.method, key: request.headers["idempotency-key"] });
    const refusal = refuse(seen.length);
    if (refusal !== undefined) {
      reply.writeHead(refusal.status, { ...refusal.headers, "content-type": "application/json" });
      reply.end('{"errors":[{"reason":"Too many requests"}]}');
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { statusCode, headers, rawPayload } = await world.send({
      method: request.method as "GET",
      url: request.url ?? "/",
      headers: request.headers,
      payload: Buffer.concat(chunks),
    });
    const ignored = headers["x-ignored-fields"];
    reply.writeHead(statusCode, {
      ...(statusCode !== 204 && { "content-type": String(headers["content-type"]) }),
      ...(ignored !== undefined && { "x-ignored-fields": ignored }),
    });
    reply.end(rawPayload);
  };
  const listener = (request: IncomingMessage, reply: ServerResponse): void => void answer(request, reply);
  const front = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const { port } = front.address() as AddressInfo;
  return {
    url: tls === undefined ? `http://127.0.0.1:${port}/` : `https://localhost:${port}/`,
    seen,
    [Symbol.dispose]: () => void front.close(),
  };
}
