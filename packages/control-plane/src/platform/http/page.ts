import { invalid } from "#platform/errors.ts";
import { texts } from "./texts.ts";

export type PageRequest = { page: number; pageSize: number };
export type Page<Item> = { data: Item[]; page: number; pages: number; results: number };

export function readPage(query: Record<string, unknown>): PageRequest {
  return {
    page: whole("page", query["page"], 1, 1, Number.MAX_SAFE_INTEGER / 500),
    pageSize: whole("page_size", query["page_size"], 100, 25, 500),
  };
}

function whole(field: string, value: unknown, otherwise: number, least: number, most: number): number {
  if (value === undefined) return otherwise;
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw invalid(field, texts.pageOutOfRange(most > 500 ? { least } : { least, most }));
}

export const offsetOf = ({ page, pageSize }: PageRequest): number => (page - 1) * pageSize;

export const toPage = <Item>({ page, pageSize }: PageRequest, results: number, data: Item[]): Page<Item> => ({
  data,
  page,
  pages: Math.max(1, Math.ceil(results / pageSize)),
  results,
});
