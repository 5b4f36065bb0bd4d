import type { Operation } from "@moorage/contract";

export type CommandName = {
  /** The command's groups, then its own name: `db backup restore`. */
  words: readonly string[];
  /** The parameters of its path, in order. */
  params: readonly string[];
};

/** Shorter names for paths that are too long, or whose noun another command uses. The longest match wins. */
const shorter: Readonly<Record<string, readonly string[]>> = {
  "/v4/databases/mysql/instances": ["db"],
  "/v4/databases": ["db"],
  "/v4/compute/instances": ["compute"],
  "/v4/account/logins": ["user", "login"],
  "/v4/profile": ["me"],
};

/** Names of the operations as commands: nouns from the path, the verb from the method. */
export function commandNames(operations: readonly Operation[]): Map<Operation, CommandName> {
  const collections = new Set<string>(operations.filter(({ paged }) => paged).map(({ path }) => path));
  return new Map(operations.map((operation) => [operation, nameOf(operation, collections)]));
}

function nameOf(operation: Operation, collections: ReadonlySet<string>): CommandName {
  const segments = operation.path.split("/").slice(2);
  const isAction = operation.method === "POST" && !collections.has(operation.path);
  const verb = isAction ? (segments.at(-1) ?? "") : verbOf(operation);
  const nouns = isAction ? segments.slice(0, -1) : segments;
  return {
    words: [...nounsOf(nouns, collections), verb],
    params: segments.filter((segment) => segment.startsWith(":")).map((segment) => segment.slice(1)),
  };
}

function verbOf({ method, paged, download, upload }: Operation): string {
  if (download !== undefined) return "download";
  if (upload !== undefined) return "upload";
  if (method === "GET") return paged === true ? "list" : "show";
  return { POST: "create", PUT: "update", DELETE: "delete" }[method];
}

function nounsOf(segments: readonly string[], collections: ReadonlySet<string>): string[] {
  const pathTo = (n: number): string => `/v4/${segments.slice(0, n).join("/")}`;
  const lengths = segments.map((_, index) => segments.length - index);
  const known = lengths.find((n) => shorter[pathTo(n)] !== undefined) ?? 0;
  // Collections of the account are named without it: `event list`.
  const from = known > 0 ? known : segments[0] === "account" && collections.has(pathTo(2)) ? 1 : 0;
  const rest = segments.slice(from).flatMap((segment, index) => {
    if (segment.startsWith(":")) return [];
    return [collections.has(pathTo(from + index + 1)) ? singular(segment) : segment];
  });
  return [...(shorter[pathTo(known)] ?? []), ...rest];
}

const singular = (noun: string): string => noun.replace(/s$/, "");
