export type Took = { name: string; seconds: number };

const MOST = 20;
const WORTH_A_LINE_SECONDS = 0.1;

/** Prints the twenty slowest tests of a stage, one line each. */
export function printSlowest(stage: string, all: readonly Took[]): void {
  const slowest = all
    .filter(({ seconds }) => seconds >= WORTH_A_LINE_SECONDS)
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, MOST);
  if (slowest.length === 0) return;
  console.log(`\nslowest of ${stage}:`);
  for (const { name, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
}
