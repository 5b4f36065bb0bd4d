import type { FastifyInstance } from "fastify";

/** Which methods a path has, so that a wrong one can be told from a wrong path. Asked only for requests that no route took. */
export function rememberPaths(
  app: FastifyInstance,
  elsewhere: readonly { method: string; path: string }[],
): (url: string) => string[] {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  const remember = (url: string, methods: readonly string[]): void => {
    const path = known.get(url) ?? { pattern: patternOf(url), methods: new Set(["OPTIONS"]) };
    for (const each of methods) path.methods.add(each);
    known.set(url, path);
  };
  for (const { method, path } of elsewhere) remember(path, method === "GET" ? [method, "HEAD"] : [method]);
  app.addHook("onRoute", ({ url, method }) => remember(url, [method].flat()));
  return (url) => {
    const path = url.split("?", 1)[0] ?? "";
    const found = [...known.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort();
  };
}

const patternOf = (url: string): RegExp =>
  new RegExp(
    `^${url
      .split("/")
      .map((part) => (part.startsWith(":") ? "[^/]+" : RegExp.escape(part)))
      .join("/")}$`,
  );
