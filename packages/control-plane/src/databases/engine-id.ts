import type { EngineVersion } from "#regions/index.ts";

/** The ids of a version: its own, and that of its major version. */
export function idsOfEngine(id: string): [major: string, own: string] {
  const [engine = "", version = ""] = id.split("/");
  return [`${engine}/${version.split(".")[0]}`, id];
}

/** The valid values of `engine` in a create. */
export const engineIdsOf = (offered: readonly Pick<EngineVersion, "id">[]): string[] =>
  [...new Set(offered.flatMap(({ id }) => idsOfEngine(id)))].toSorted();

const byNumbers = new Intl.Collator("en", { numeric: true });

/** The version of this id, or the newest of this major version. */
export const newestNamed = <Version extends Pick<EngineVersion, "id" | "version">>(
  offered: readonly Version[],
  id: string,
): Version | undefined =>
  offered.find((version) => version.id === id) ??
  offered
    .filter((version) => idsOfEngine(version.id).includes(id))
    .toSorted((a, b) => byNumbers.compare(b.version, a.version))[0];
