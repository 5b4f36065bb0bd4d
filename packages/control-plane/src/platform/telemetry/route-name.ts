import { operations, pathsOf } from "@moorage/contract";

const idOf = new Map<string, string>(
  operations.flatMap((operation) =>
    pathsOf(operation).map((path) => [`${operation.method} ${path}`, operation.id] as const),
  ),
);

/** What a request asked for, in words of which there are only so many: never the path as it was sent. */
export function routeName(method: string, url: string | undefined): string {
  if (url === undefined) return "none";
  // The second route of an operation whose id holds a slash.
  const path = url.replace(/:(\w+)_left\/:\1_right/, ":$1");
  return idOf.get(`${method} ${path}`) ?? `${method} ${url}`;
}
