import { readFile } from "node:fs/promises";
import { env } from "../kit/stack-env.ts";

type Document = { paths: Record<string, Record<string, { operationId?: string }>> };

export type DocumentedOperation = { id: string; matches(method: string, path: string): boolean };

export const servedDocument = (): string => new URL("/v4/openapi.json", env("MOORAGE_URL")).href;

async function read(location: string): Promise<string> {
  if (!URL.canParse(location)) return readFile(location, "utf8");
  const reply = await fetch(location);
  if (!reply.ok) throw new Error(`${location} is answered ${reply.status}`);
  return reply.text();
}

/** The operations in the document. */
export async function documentedOperations(location: string): Promise<DocumentedOperation[]> {
  const { paths } = JSON.parse(await read(location)) as Document;
  return Object.entries(paths).flatMap(([template, methods]) => {
    const pattern = new RegExp(`^(/v4)?${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
    return Object.entries(methods).flatMap(([method, { operationId }]) =>
      operationId === undefined
        ? []
        : [{ id: operationId, matches: (m: string, path: string) => m === method.toUpperCase() && pattern.test(path) }],
    );
  });
}
