import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type SentSpan = {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  attributes: Record<string, unknown>;
};

type Attribute = { key: string; value: Record<string, unknown> };
type Message = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: (Omit<SentSpan, "service" | "attributes"> & { attributes: Attribute[] })[] }[];
  }[];
};

/** A collector for tests: accepts OTLP over HTTP, as JSON, and stores it. */
export async function startRecordingCollector() {
  const messages: string[] = [];
  const server = createServer((request, reply) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      if (request.url === "/v1/traces") messages.push(text);
      reply.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    text: () => messages.join("\n"),
    spans: (): SentSpan[] => messages.flatMap((text) => spansOf(JSON.parse(text) as Message)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const spansOf = ({ resourceSpans }: Message): SentSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        service: String(plain(resource.attributes)["service.name"]),
        attributes: plain(span.attributes),
      })),
    ),
  );

const plain = (attributes: Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
