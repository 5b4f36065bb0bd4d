import { operations, pathsOf } from "@moorage/contract";

const idOf = new Map<string, string>(
  operations.flatMap((operation) =>
    pathsOf(operation).map((path) => [`${operation.method} ${path}`, operation.id] as const),
  ),
);

/** The name of a request's route, from a bounded set: never the path as it was sent. */
export function routeName(method: string, url: string | undefined): string {
  if (url === undefined) return "none";
  // The second route of an operation whose id contains a slash.
  const path = url.replace(/:(\w+)_left\/:\1_right/, ":$1");
  return idOf.get(`${method} ${path}`) ?? `${method} ${url}`;
}
