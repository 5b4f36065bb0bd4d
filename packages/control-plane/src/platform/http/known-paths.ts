import type { FastifyInstance } from "fastify";

export type KnownPaths = {
  /** Distinguishes a wrong method from a wrong path. */
  methodsOf(url: string): string[];
  /** The longest known prefix of a path, and what may follow it. */
  nextOf(url: string): { prefix: string; next: string[] };
};

/** The paths of a server. Consulted only for requests that match no route. */
export function rememberPaths(
  app: FastifyInstance,
  elsewhere: readonly { method: string; path: string }[],
): KnownPaths {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  const remember = (url: string, methods: readonly string[]): void => {
    const path = known.get(url) ?? { pattern: patternOf(url), methods: new Set(["OPTIONS"]) };
    for (const each of methods) path.methods.add(each);
    known.set(url, path);
  };
  for (const { method, path } of elsewhere) remember(path, method === "GET" ? [method, "HEAD"] : [method]);
  app.addHook("onRoute", ({ url, method }) => remember(url, [method].flat()));
  return {
    methodsOf: (url) => {
      const path = pathOf(url);
      const found = [...known.values()].filter(({ pattern }) => pattern.test(path));
      return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort();
    },
    nextOf: (url) => nextAmong([...known.keys()], pathOf(url)),
  };
}

const pathOf = (url: string): string => url.split("?", 1)[0] ?? "";

function nextAmong(known: readonly string[], path: string): { prefix: string; next: string[] } {
  let [among, prefix] = [known.map((url) => url.split("/").slice(1)), ""];
  for (const [depth, part] of path.split("/").slice(1).entries()) {
    const fixed = among.filter((url) => url[depth] === part);
    const fitting = fixed.length > 0 ? fixed : among.filter((url) => url[depth]?.startsWith(":") === true);
    // A path that ends here is known, and so is what may follow: this is where the caller went wrong.
    if (part === "" || !fitting.some((url) => url.length > depth + 1)) break;
    [among, prefix] = [fitting, `${prefix}/${shown(fitting[0]?.[depth])}`];
  }
  const depth = prefix.split("/").length - 1;
  const next = among.flatMap((url) => (url[depth] === undefined ? [] : [shown(url[depth])]));
  return { prefix, next: [...new Set(next)].sort() };
}

const shown = (part = ""): string => part.replace(/^:(.*)$/, "{$1}");

const patternOf = (url: string): RegExp =>
  new RegExp(
    `^${url
      .split("/")
      .map((part) => (part.startsWith(":") ? "[^/]+" : RegExp.escape(part)))
      .join("/")}$`,
  );
