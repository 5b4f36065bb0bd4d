import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * What files took when this was last written, in seconds. It only tells which begin first: without it those that take
 * minutes begin last when they are short to read, and one worker ends them while the others have nothing left.
 */
export const secondsOf: Record<string, number> = {
  "packages/agent/src/restore/restore": 150,
  "packages/agent/src/cluster/group": 120,
  "packages/agent/src/node-life": 120,
  "packages/agent/src/cluster/renewal": 80,
  "packages/agent/src/encryption/encryption": 75,
  "packages/agent/src/gate/gate": 75,
  "packages/agent/src/archive/archive": 70,
  "packages/agent/src/archive/member-archive": 60,
  "packages/agent/src/cluster-gate/cluster-gate": 55,
  "packages/agent/src/disk/disk": 40,
  "packages/agent/src/node-certificate": 35,
  "packages/agent/src/gate/gate-of-a-node": 35,
  "packages/agent/src/gate/random-lists": 30,
  "packages/agent/src/agent": 30,
  "packages/control-plane/src/images/import/store-faults": 75,
  "packages/control-plane/src/payments/charge-trials": 75,
  "packages/control-plane/src/images/importer/corpus": 65,
  "tests/every-operation/every-operation": 55,
  "packages/control-plane/src/operator/command-line": 50,
  "packages/control-plane/src/databases/clusters/rolling/rolling-workflow": 50,
  "packages/control-plane/src/images/import/import-workflow": 40,
  "packages/control-plane/src/databases/clusters/health/form-group": 35,
  "packages/control-plane/src/databases/update-workflow": 35,
  "packages/control-plane/src/databases/clusters/recover-cluster": 35,
  "packages/control-plane/src/databases/clusters/health/replace-node": 30,
  "packages/control-plane/src/databases/clusters/cluster-life": 30,
  "packages/control-plane/src/sign-in/brute-force": 30,
  "packages/control-plane/src/databases/patch-chore": 30,
  "packages/control-plane/src/depot/depot": 25,
  "packages/control-plane/src/databases/change-workflow": 25,
  "packages/control-plane/src/databases/names": 25,
};
const USUAL_SECONDS = 8;

export const ending = ".integration.test.ts";

/** Tests of the agent wait for servers, the others compute: in this order both kinds run at any time. */
export function interleave(paths: readonly string[]): string[] {
  const kinds = Map.groupBy(paths, (path) => path.startsWith("packages/agent/"));
  return [...kinds.values()]
    .flatMap(sharesOf)
    .toSorted((one, other) => one.begins - other.begins || (one.path < other.path ? -1 : 1))
    .map(({ path }) => path);
}

/** When each begins, as a share of what its kind takes in all; the longest first. */
function sharesOf(paths: readonly string[]): { path: string; begins: number }[] {
  const took = paths.map((path) => ({ path, seconds: secondsOf[path.replace(ending, "")] ?? USUAL_SECONDS }));
  const total = took.reduce((sum, { seconds }) => sum + seconds, 0);
  let before = 0;
  return took
    .toSorted((one, other) => other.seconds - one.seconds || (one.path < other.path ? -1 : 1))
    .map(({ path, seconds }) => {
      before += seconds;
      return { path, begins: (before - seconds) / total };
    });
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const pathOf = (file: TestSpecification): string => relative(this.ctx.config.root, file.moduleId);
    const sorted = await super.sort(files);
    const integration = new Map(sorted.filter(isIntegration).map((file) => [pathOf(file), file]));
    const ordered = interleave([...integration.keys()]).flatMap((path) => integration.get(path) ?? []);
    return [...sorted.filter((file) => !isIntegration(file)), ...ordered];
  }
}

const isIntegration = ({ project }: TestSpecification): boolean => project.name === "integration";
