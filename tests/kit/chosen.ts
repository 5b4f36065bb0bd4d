/** What `--only` asks for, or everything. A name that there is not ends the program, and tells those that there are. */
export function chosen<T>(what: string, all: Readonly<Record<string, T>>, only: string | undefined): [string, T][] {
  const found = Object.entries(all).filter(([name]) => only === undefined || only === name);
  if (found.length > 0) return found;
  console.error(`There is no ${what} ${only}; there are ${Object.keys(all).join(", ")}.`);
  process.exit(2);
}
