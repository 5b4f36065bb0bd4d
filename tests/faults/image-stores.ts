import { spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type StoreFault, startFaultyStore } from "@moorage/testkit/faulty-store.ts";
import { createRandom } from "@moorage/testkit/random.ts";
import { pidOf, start, stop, waitHealthy } from "../../tools/stack/control.ts";
import { imageStoresFileOf } from "../../tools/stack/config-files.ts";
import { inStack, node } from "../../tools/stack/paths.ts";
import { controlPlaneEnv, controlPlaneProgram } from "../../tools/stack/services.ts";
import { type Flow, newFixture, type Fixture } from "./flow.ts";
import { captureStarts, imageFlows, importStarts, longCapture, longUpload, removeImage } from "./image-flows.ts";
import { defineDrill } from "./drill.ts";
import { type Run, trial } from "./trial.ts";

const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** The store in which the drills' images are created, and the one that they are copied to. */
const HOME = "s3";
const OTHER = "s3-west";

/**
 * Each fault happens while an image is created; whatever the store does, the image becomes available complete, or fails
 * with a reason.
 */
export const imageStores = defineDrill({
  name: "image-stores",
  question: "Does an image become available complete, or fail with a reason, whatever its stores do meanwhile?",
  hosts: { least: 3 },
  short: { seconds: 5, seeds: 1, few: true },
  long: { seconds: 40, seeds: 10, few: false },
  extent: ({ seconds, seeds, few }) =>
    `${few ? 1 : 5} with a store away or silent for ${seconds} s, ${seeds} with a bad network`,
  async run(run, { seconds, seeds, few }) {
    await trial(run, `image store away for ${seconds} s while an upload is imported: it becomes available`, () =>
      whileImporting(() => away(HOME, seconds)),
    );
    if (!few) await moreHarm(run, seconds);
    for (let seed = 1; seed <= seeds; seed++)
      await trial(run, `image stores behind a bad network, seed ${seed}: no image is falsely available`, () =>
        badNetwork(seed),
      );
  },
});

async function moreHarm(run: Run, seconds: number): Promise<void> {
  await trial(run, `image store silent for ${seconds} s while an upload is imported: it becomes available`, () =>
    whileImporting(() => silent(HOME, seconds)),
  );
  await trial(run, `image store away for ${seconds} s while a disk is captured: it becomes available`, () =>
    through(longCapture, async (fixture) => {
      await captureStarts(fixture);
      await away(HOME, seconds);
    }),
  );
  await trial(run, `second image store away for ${seconds} s: an image is made without it, and copied later`, () =>
    through(imageFlows["image-upload"], () => away(OTHER, seconds)),
  );
  await trial(run, `both image stores away for ${seconds} s when an image is deleted: nothing of it stays`, () =>
    through(imageFlows["image-delete"], () => Promise.all([away(HOME, seconds), away(OTHER, seconds)])),
  );
}

async function away(service: string, seconds: number): Promise<void> {
  await stop([service]);
  await pause(seconds);
  await start([service]);
  await waitHealthy(service);
}

/** The store accepts connections and answers none of them. */
async function silent(service: string, seconds: number): Promise<void> {
  const pid = pidOf(service);
  if (pid === undefined) throw new Error(`${service} is not running.`);
  process.kill(pid, "SIGSTOP");
  await pause(seconds).finally(() => process.kill(pid, "SIGCONT"));
}

/** Runs the flow and the fault at the same time. */
async function through({ prepare, run }: Flow, harm: (fixture: Fixture) => Promise<unknown>): Promise<void> {
  const fixture = newFixture();
  await prepare(fixture);
  await Promise.all([run(fixture), harm(fixture)]);
  await removeImage(fixture);
  await fixture.afterwards?.();
}

const whileImporting = (harm: () => Promise<unknown>): Promise<void> =>
  through(longUpload, async (fixture) => {
    await importStarts(fixture);
    await harm();
  });

/** One in four requests between the worker and the stores fails; those of tenants and hosts do not. */
async function badNetwork(seed: number): Promise<string> {
  const random = createRandom(seed);
  const anyFault = (method: string): StoreFault | undefined => {
    if (!random.chance(0.25)) return undefined;
    const way = method === "PUT" ? ("up" as const) : ("down" as const);
    return random.oneOf<StoreFault>([
      { kind: "slow", ms: 10_000 },
      { kind: "busy" },
      { kind: "cut", way, after: random.below(4_000_000) },
      { kind: "flip", way, at: random.below(4_000_000) },
    ]);
  };
  await using network = await faultyStores(anyFault);
  await stop(["worker"]);
  try {
    await using _ = startWorker(network.file);
    // A small image: a flipped byte costs a whole try, and a large image has more bytes to flip.
    await through(imageFlows["image-upload"], async () => {});
  } finally {
    await start(["worker"]);
    await waitHealthy("worker");
  }
  return `${network.count()} faults`;
}

type StoresFile = Record<
  string,
  Record<"url" | "region" | "bucket" | "access_key" | "secret_key" | "purge_access_key" | "purge_secret_key", string>
>;

/** The stack's list of stores, with a faulty network in front of each. */
async function faultyStores(plan: (method: string) => StoreFault | undefined) {
  const folder = mkdtempSync(join(tmpdir(), "moorage-stores-"));
  const stores = JSON.parse(readFileSync(imageStoresFileOf("worker"), "utf8")) as StoresFile;
  const faulty = await Promise.all(
    Object.entries(stores).map(async ([name, settings]) => ({ name, ...(await startFaultyStore({ settings })) })),
  );
  for (const each of faulty) each.plan(plan);
  const file = join(folder, "stores.json");
  writeFileSync(file, JSON.stringify(Object.fromEntries(faulty.map(({ name, settings }) => [name, settings]))));
  return {
    file,
    count: () => faulty.reduce((sum, { passed }) => sum + passed.length, 0),
    async [Symbol.asyncDispose]() {
      for (const each of faulty) await each[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Replaces the stack's worker by one with another list of stores. */
function startWorker(storesFile: string) {
  const log = inStack("log", "drill-worker", "current");
  mkdirSync(dirname(log), { recursive: true });
  const out = openSync(log, "a");
  const child = spawn(node, [controlPlaneProgram("worker")], {
    env: { ...process.env, ...controlPlaneEnv("worker"), MOORAGE_IMAGE_STORES_FILE: storesFile },
    stdio: ["ignore", out, out],
  });
  closeSync(out);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
