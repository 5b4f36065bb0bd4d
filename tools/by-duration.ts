import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { currentTurn } from "@moorage/testkit/turns.ts";
import { type Durations, measuredDurations } from "./test-durations.ts";

type Timed = { path: string; seconds: number };

/** A file without a measurement counts as the median. */
function timed(paths: readonly string[], durations: Durations): Timed[] {
  const known = Object.values(durations).toSorted((one, other) => one - other);
  const usual = known[Math.floor(known.length / 2)] ?? 1;
  return paths
    .map((path) => ({ path, seconds: durations[path] ?? usual }))
    .toSorted((one, other) => other.seconds - one.seconds || (one.path < other.path ? -1 : 1));
}

/** The agent's tests wait for servers, the others compute: a run is shortest when both kinds are always running. */
const kindsOf = (paths: readonly string[]): string[][] => [
  ...Map.groupBy(paths.toSorted(), (path) => path.startsWith("packages/agent/")).values(),
];

/** The order in which files start: the longest of each kind first, with both kinds mixed from start to end. */
export function interleave(paths: readonly string[], durations: Durations): string[] {
  return kindsOf(paths)
    .flatMap((kind) => shareOfKindBefore(timed(kind, durations)))
    .toSorted((one, other) => one.before - other.before || (one.path < other.path ? -1 : 1))
    .map(({ path }) => path);
}

function shareOfKindBefore(files: readonly Timed[]): { path: string; before: number }[] {
  const total = files.reduce((sum, { seconds }) => sum + seconds, 0);
  let begun = 0;
  return files.map(({ path, seconds }) => {
    begun += seconds;
    return { path, before: (begun - seconds) / total };
  });
}

/** Divides the files into shards of similar total duration: each file goes to the shard with the least so far. */
export function shardsOf(paths: readonly string[], count: number, durations: Durations): string[][] {
  const shards = Array.from({ length: count }, () => ({ paths: [] as string[], seconds: 0 }));
  for (const kind of kindsOf(paths))
    for (const { path, seconds } of timed(kind, durations)) {
      const least = shards.reduce((one, other) => (other.seconds < one.seconds ? other : one));
      least.paths.push(path);
      least.seconds += seconds;
    }
  return shards.map((shard) => shard.paths);
}

/** Files that take longer than this are divided into two parts, of which each commit runs the other one in CI. */
const LONG_SECONDS = 20;
/** Who may do what is verified with each commit, and so are the secrets that these system tests use. */
const ALWAYS = new Set([
  "tests/every-operation/every-operation.integration.test.ts",
  ...["first-token", "images", "sign-in", "third-party-app"].map((name) => `tests/system/${name}.test.ts`),
]);

const isSystem = (path: string): boolean => path.startsWith("tests/system/");

/** The files of a suite that CI runs with this turn: all without one, otherwise the short ones and every second long one. */
export function filesOfTurn(paths: readonly string[], durations: Durations, turn: number | undefined): string[] {
  if (turn === undefined) return [...paths];
  const suite = Object.keys(durations).filter((path) => isSystem(path) === paths.some(isSystem));
  const long = timed(suite, durations)
    .filter(({ path, seconds }) => seconds > LONG_SECONDS && !ALWAYS.has(path))
    .map(({ path }) => path);
  const later = new Set(long.filter((_, at) => at % 2 !== turn % 2));
  return paths.filter((path) => !later.has(path));
}

/** Orders and shards the integration tests by tools/test-durations.json, and chooses the files of the turn. */
export class ByDuration extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { integration, system, others } = this.#bySuite(await super.sort(files));
    const ordered = interleave([...integration.keys()], measuredDurations());
    return [...others, ...filesAt(ordered, integration), ...system.values()];
  }

  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { integration, system, others } = this.#bySuite(files);
    const { index = 1, count = 1 } = this.ctx.config.shard ?? {};
    const ours = shardsOf([...integration.keys()], count, measuredDurations())[index - 1] ?? [];
    return [...(await super.shard([...others, ...system.values()])), ...filesAt(ours, integration)];
  }

  #bySuite(files: readonly TestSpecification[]) {
    const {
      integration = [],
      system = [],
      others = [],
    } = Object.groupBy(files, ({ project: { name } }) =>
      name === "integration" || name === "system" ? name : "others",
    );
    return { integration: this.#ofTurn(integration), system: this.#ofTurn(system), others };
  }

  #ofTurn(files: readonly TestSpecification[]): Map<string, TestSpecification> {
    const byPath = new Map(files.map((file) => [relative(this.ctx.config.root, file.moduleId), file]));
    const chosen = new Set(filesOfTurn([...byPath.keys()], measuredDurations(), currentTurn()));
    return new Map([...byPath].filter(([path]) => chosen.has(path)));
  }
}

const filesAt = (paths: readonly string[], files: ReadonlyMap<string, TestSpecification>): TestSpecification[] =>
  paths.flatMap((path) => files.get(path) ?? []);
