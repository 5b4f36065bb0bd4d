import type { FastifyInstance } from "fastify";

/** Which methods a path has, so that a wrong one can be told from a wrong path. Asked only for requests that no route took. */
export function rememberPaths(app: FastifyInstance): (url: string) => string[] {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  app.addHook("onRoute", ({ url, method }) => {
    const path = known.get(url) ?? { pattern: patternOf(url), methods: new Set(["OPTIONS"]) };
    for (const each of [method].flat()) path.methods.add(each);
    known.set(url, path);
  });
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
