import { context, type Span, SpanKind, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import type { Pool, PoolClient } from "pg";

type Query = (...args: unknown[]) => unknown;

/**
 * A span for each statement inside of another span; background polls have none. It holds the text with its placeholders
 * and never a value, and for a failure only the code: Postgres puts values into its messages.
 */
export function traceQueries(tracer: Tracer, pool: Pool): void {
  pool.on("connect", (client: PoolClient) => {
    const query = client.query.bind(client) as Query;
    const traced: Query = (...args) => {
      if (trace.getSpan(context.active()) === undefined) return query(...args);
      const text = textOf(args[0]);
      const operation = /^\s*(\w+)/.exec(text)?.[1]?.toLowerCase() ?? "query";
      const span = tracer.startSpan((args[0] as { name?: string } | undefined)?.name ?? operation, {
        kind: SpanKind.CLIENT,
        attributes: { "db.system.name": "postgresql", "db.operation.name": operation, "db.query.text": text },
      });
      const end = (error?: unknown): void => (error ? fail(span, error) : span.end());
      const answer = args.at(-1);
      // The pool itself calls with a callback.
      if (isCallback(answer))
        return query(...args.slice(0, -1), (error: unknown, result: unknown) => {
          end(error);
          answer(error, result);
        });
      const result = query(...args);
      void Promise.resolve(result).then(() => end(), end);
      return result;
    };
    client.query = traced as typeof client.query;
  });
}

const isCallback = (arg: unknown): arg is Query => typeof arg === "function";

const textOf = (query: unknown): string =>
  typeof query === "string" ? query : ((query as { text?: string } | undefined)?.text ?? "");

function fail(span: Span, error: unknown): void {
  const { code } = error as { code?: unknown };
  span.setAttribute("db.response.status_code", typeof code === "string" ? code : "unknown");
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
