/** Files of npm packages that no process of an installation loads. Paths are relative to `node_modules`. */
const unwanted: readonly (readonly [RegExp, string])[] = [
  [/^\.modules\.yaml$|^\.pnpm-workspace-state|^\.pnpm\/lock\.yaml$|(^|\/)\.bin$/, "notes of the installation"],
  [/\/\.(?!pnpm(\/|$))[^/]+$/, "notes of developers"],
  [/^\.pnpm\/@types\+/, "types"],
  [/\.d\.[cm]?ts$|\.tsbuildinfo$/, "types"],
  [/\.(js|mjs|cjs|ts|css)\.map$/, "source maps"],
  [/\/releases\/(?!x86_64-unknown-linux-gnu(\/|$))[^/]*-(apple|unknown|pc)-[^/]*(\/|$)/, "other platforms"],
  [/\.(exe|dll|dylib)$/, "other platforms"],
  [/\/core-bridge\/(sdk-core|src|bridge-macros|scripts|Cargo\.\w+)$/, "sources of a binary"],
  // They only bundle and minify workflows, which the release has done.
  [/^\.pnpm\/(@swc\+core-linux|lightningcss)/, "build tools"],
  [/\/node_modules\/[^@][^/]*\/(__tests__|tests?|benchmarks?|examples?)$/, "tests"],
  [/\/node_modules\/@[^/]+\/[^/]+\/(__tests__|tests?|benchmarks?|examples?)$/, "tests"],
  [/\/(__tests__|__snapshots__)$|\.(test|spec)\.[cm]?[jt]sx?$/, "tests"],
  // An optional native part of ssh2, which is not built: podman is reached by its socket.
  [/\/cpu-features\/deps$/, "sources of a binary"],
  [/\/(zod|rxjs)\/src$/, "sources of what is there as JavaScript"],
];

export const isUnwanted = (path: string): boolean => unwanted.some(([pattern]) => pattern.test(path));
