import { readFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { pathToFileURL } from "node:url";

/** Modules by address, and the resolution of their imports. */
type Program = { entry: string; modules: Record<string, string>; meanings: Record<string, string> };

/**
 * The child can open no file, and its user could often not read ours. So it gets its program from the parent:
 * everything that its entry imports, as JavaScript.
 */
export function gatherProgram(entry: URL): Program {
  const program: Program = { entry: entry.href, modules: {}, meanings: {} };
  const waiting = [entry.href];
  for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
    if (program.modules[url] !== undefined) continue;
    const source = stripTypeScriptTypes(readFileSync(new URL(url), "utf8"));
    program.modules[url] = source;
    for (const [, name = ""] of source.matchAll(/\bfrom "([^"]+)";$/gm)) {
      if (name.startsWith("node:")) continue;
      const meaning = name.startsWith(".") ? new URL(name, url).href : fileOf(name, url);
      program.meanings[`${name} ${url}`] = meaning;
      waiting.push(meaning);
    }
  }
  return program;
}

const fileOf = (name: string, from: string): string => pathToFileURL(createRequire(from).resolve(name)).href;

/** Runs in the child first: reads the program from a pipe, and loads modules only from it. */
export const loader = `
  import { readFileSync } from "node:fs";
  import { registerHooks } from "node:module";
  const { entry, modules, meanings } = JSON.parse(readFileSync(4, "utf8"));
  registerHooks({
    resolve: (name, context, next) => {
      const url = name === entry ? entry : meanings[name + " " + context.parentURL];
      return url === undefined ? next(name, context) : { url, format: "module", shortCircuit: true };
    },
    load: (url, context, next) =>
      modules[url] === undefined ? next(url, context) : { format: "module", source: modules[url], shortCircuit: true },
  });
  await import(entry);
`;
