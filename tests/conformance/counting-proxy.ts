import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { env } from "../kit/stack-env.ts";
import type { DocumentedOperation } from "./openapi-document.ts";

/** The body byte for byte, one character each: an image passes through as well as JSON does. */
export type Answer = { status: number; body: string };
/** Answers by status, and the last one that was neither 2xx nor explained by the caller's request. */
export type Count = { statuses: Map<number, number>; lastRefusal: string };

export type CountingProxy = AsyncDisposable & { url: string; counts: Map<string, Count> };

export const OTHER = "(no operation)";

/**
 * Stands in front of the stack and counts the answers of each operation, whatever the tool itself reports. `alter`
 * plants a fault in an answer, so that the product needs no switch for it.
 */
export async function countingProxy(
  operations: readonly DocumentedOperation[],
  alter: (operation: string, answer: Answer) => Answer = (_, answer) => answer,
): Promise<CountingProxy> {
  const counts = new Map<string, Count>(operations.map(({ id }) => [id, newCount()]));
  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing, (answer) => {
      const [path = ""] = (incoming.url ?? "").split("?");
      const operation = operations.find((each) => each.matches(incoming.method ?? "", path))?.id ?? OTHER;
      const altered = alter(operation, answer);
      const count = counts.get(operation) ?? newCount();
      counts.set(operation, count);
      count.statuses.set(altered.status, (count.statuses.get(altered.status) ?? 0) + 1);
      if (altered.status >= 400)
        count.lastRefusal = `${incoming.method} ${incoming.url} ${altered.status} ${altered.body}`;
      return altered;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const newCount = (): Count => ({ statuses: new Map(), lastRefusal: "" });

function forward(incoming: IncomingMessage, outgoing: ServerResponse, pass: (answer: Answer) => Answer): void {
  const { method, url, rawHeaders } = incoming;
  const onward = request(env("MOORAGE_URL"), { method, path: url, headers: rawHeaders }, (reply) => {
    const chunks: Buffer[] = [];
    reply.on("data", (chunk: Buffer) => chunks.push(chunk));
    reply.on("end", () => {
      const answer = { status: reply.statusCode ?? 0, body: Buffer.concat(chunks).toString("latin1") };
      const { status, body } = pass(answer);
      const { "content-length": _, "transfer-encoding": __, ...headers } = reply.headers;
      // The length of a HEAD answer is that of the body it does not have; 204 has none.
      const bare = method === "HEAD" || status === 204;
      outgoing.writeHead(status, bare ? reply.headers : { ...headers, "content-length": body.length });
      outgoing.end(bare ? undefined : Buffer.from(body, "latin1"));
    });
  });
  onward.on("error", (error) => {
    pass({ status: 599, body: String(error) });
    outgoing.destroy();
  });
  incoming.pipe(onward);
}

export const answered = (count: Count, from: number, to: number): number =>
  [...count.statuses].reduce((sum, [status, times]) => (status >= from && status <= to ? sum + times : sum), 0);
