/**
 * Whether the response time reveals which names exist. `MOORAGE_TIMING_PAIRS=2000` is the whole measurement (minutes);
 * by default a short form runs, with wider bounds.
 */
import { expect, test } from "vitest";
import { newAuthServer } from "#testing/auth-server.ts";
import { newWorld } from "#testing/world.ts";
import { createPasswords, type Passwords } from "./passwords.ts";

const PAIRS = Number(process.env["MOORAGE_TIMING_PAIRS"] ?? 100);
const isWhole = PAIRS >= 2000;
const PATIENCE_MS = 60_000 + PAIRS * 20_000;

type Measured = { median: number; from: number; to: number };

const median = (of: readonly number[]): number => {
  const sorted = [...of].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
};

/** The 95 % confidence interval of the median difference, by resampling the pairs. */
function interval(differences: readonly number[]): { from: number; to: number } {
  const medians = Array.from({ length: 2000 }, () =>
    median(Array.from(differences, () => differences[Math.floor(Math.random() * differences.length)] as number)),
  ).sort((a, b) => a - b);
  return { from: medians[49] as number, to: medians[1949] as number };
}

/** Interleaved, with random order within a pair, so that other load affects both alike. */
async function measure(passwords: Passwords, pairs: number): Promise<Measured> {
  await using world = await newWorld();
  await using auth = await newAuthServer(world, { passwords });
  const customer = await world.customer();
  await auth.setPassword(customer);
  const visitor = auth.visitor();
  await visitor.get("/security");
  const form = visitor.form("/sign-in");
  const timed = async (name: string): Promise<number> => {
    const began = performance.now();
    const { status } = await visitor.post(form?.action ?? "", { ...form?.hidden, name, password: "not the password" });
    const took = performance.now() - began;
    expect(status).toBe(400);
    return took;
  };
  // As long as the existing name: a page that repeats it has the same length.
  const unknown = customer.username.replaceAll(/\d/g, "x");
  for (let n = 0; n < 10; n++) await timed(n % 2 === 0 ? unknown : customer.username);
  const all: number[] = [];
  const differences: number[] = [];
  for (let n = 0; n < pairs; n++) {
    const unknownFirst = Math.random() < 0.5;
    const first = await timed(unknownFirst ? unknown : customer.username);
    const second = await timed(unknownFirst ? customer.username : unknown);
    all.push(first, second);
    differences.push(unknownFirst ? first - second : second - first);
  }
  return { median: median(all), ...interval(differences) };
}

const summaryOf = (what: string, pairs: number, { median: middle, from, to }: Measured): string =>
  `${what}: ${pairs} pairs, median ${middle.toFixed(2)} ms; unknown less wrong: 95 % in [${from.toFixed(3)}, ${to.toFixed(3)}] ms, width ${((100 * (to - from)) / middle).toFixed(2)} % of the median`;

test(
  "an unknown name takes as long as a wrong password",
  async () => {
    const measured = await measure(createPasswords(), PAIRS);
    console.log(summaryOf("as it is", PAIRS, measured));
    const { away, width } = isWhole ? { away: 0, width: 0.05 } : { away: 0.1, width: 1 };
    expect(Math.max(measured.from, -measured.to, 0)).toBeLessThanOrEqual(away * measured.median);
    expect(measured.to - measured.from).toBeLessThan(width * measured.median);
  },
  PATIENCE_MS,
);

test("the measurement detects an early return", async () => {
  const passwords = createPasswords();
  const early = await measure(
    { ...passwords, matches: async (kept, password) => kept !== null && passwords.matches(kept, password) },
    60,
  );
  console.log(summaryOf("early return", 60, early));
  expect(early.to).toBeLessThan(-0.3 * early.median);
});
