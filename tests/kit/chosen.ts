/** The names that `--only` selects, or all. An unknown name ends the program with a list of the valid ones. */
export function chosen<T>(what: string, all: Readonly<Record<string, T>>, only: string | undefined): [string, T][] {
  const found = Object.entries(all).filter(([name]) => only === undefined || only.split(",").includes(name));
  if (found.length > 0) return found;
  console.error(`There is no ${what} ${only}; there are ${Object.keys(all).join(", ")}.`);
  process.exit(2);
}
