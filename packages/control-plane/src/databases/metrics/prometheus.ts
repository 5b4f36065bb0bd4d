import { z } from "zod";
import { DomainError } from "#platform/errors.ts";
import { texts } from "../texts.ts";

/** The answer of Prometheus to `query_range`: a matrix of [seconds, "value"]. */
const Answer = z.object({
  status: z.literal("success"),
  data: z.object({
    resultType: z.literal("matrix"),
    result: z.array(
      z.object({ metric: z.record(z.string(), z.string()), values: z.array(z.tuple([z.number(), z.string()])) }),
    ),
  }),
});

export type Range = { from: Date; to: Date; step: number };
export type Prometheus = {
  range(query: string, range: Range): Promise<{ labels: Record<string, string>; points: [number, number][] }[]>;
};

const WITHIN_MS = 5000;

const away = (): DomainError => new DomainError("unavailable", { reason: texts.metricsUnavailable() });

export const createPrometheus = (url: string | undefined): Prometheus => ({
  async range(query, { from, to, step }) {
    if (url === undefined) throw away();
    const params = new URLSearchParams({ query, start: seconds(from), end: seconds(to), step: String(step) });
    const response = await fetch(`${url}/api/v1/query_range?${params.toString()}`, {
      signal: AbortSignal.timeout(WITHIN_MS),
    }).catch(() => undefined);
    const answer = Answer.safeParse(await response?.json().catch(() => undefined));
    if (!answer.success) throw away();
    return answer.data.data.result.map(({ metric, values }) => ({
      labels: metric,
      points: values
        .map(([at, value]) => [at, Number(value)] as [number, number])
        .filter(([, v]) => Number.isFinite(v)),
    }));
  },
});

const seconds = (at: Date): string => (at.getTime() / 1000).toFixed(3);
