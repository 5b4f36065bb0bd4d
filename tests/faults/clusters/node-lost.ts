import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { until } from "@moorage/testkit/until.ts";
import { stop } from "../../../tools/stack/control.ts";
import { run as command } from "../../../tools/stack/run.ts";
import { type Member, othersThan, untilHealthy } from "../../kit/cluster.ts";
import { serverOf } from "../../kit/cluster-faults.ts";
import { formatGaps, longestGap, seconds } from "../../kit/cluster-gaps.ts";
import { hostDir, hostNumbers } from "../../kit/host.ts";
import { tenant } from "../../kit/tenant.ts";
import { powerCut, powerOn } from "../host-restarted.ts";
import { bring } from "../outages.ts";
import { defineDrill, leftOut } from "../drill.ts";
import { type Measured, trial } from "../trial.ts";
import { standingCluster } from "./standing-cluster.ts";
import { countsOf, figuresOf, requireNoLoss, underLoad } from "./under-load.ts";

/** One failover. */
const PRIMARY_MISSED_MS = 12_000;

type Loss = {
  name: string;
  strike: (victim: Member) => Promise<unknown>;
  after: (victim: Member) => Promise<unknown>;
  /** Another node replaces it, on a host that has no node of the database yet. */
  elsewhere: boolean;
  secondaryMissedMs: number;
};

const losses: Loss[] = [
  {
    name: "its volume destroyed",
    strike: destroyVolume,
    after: async () => {},
    elsewhere: false,
    // When a member is admitted again under the same address, the engine waits for it until the others notice that
    // their connections to the previous server are dead: three pings of a second.
    secondaryMissedMs: 4000,
  },
  {
    name: "its host gone for good",
    strike: ({ host }) => powerCut(host),
    // The host gets its power back after its node was replaced: what it still has of the database must be removed.
    after: ({ host }) => powerOn(host),
    elsewhere: true,
    secondaryMissedMs: 1500,
  },
];

export const nodeLost = defineDrill({
  name: "node-lost",
  question: "Is a node replaced automatically, without a lost write, when its volume or its host is permanently lost?",
  hosts: { least: 3, complete: 4 },
  measures: "longest time without a write",
  goal: "0 lost",
  short: leftOut(),
  long: {},
  extent: () => "4 trials",
  async run(run) {
    for (const loss of losses) {
      if (loss.elsewhere && hostNumbers().length < 4) {
        console.log(`left out, because it needs a stack of four hosts: ${loss.name}`);
        continue;
      }
      for (const role of ["secondary", "primary"] as const)
        await trial(run, `a ${role} lost, ${loss.name}: three again without a person`, () => lose(loss, role));
    }
  },
});

async function lose(loss: Loss, role: "primary" | "secondary"): Promise<Measured> {
  const alice = tenant();
  const cluster = await standingCluster(alice);
  const [secondary] = othersThan(cluster.primary, cluster.members);
  const victim = role === "primary" ? cluster.primary : (secondary as Member);
  const seen = await underLoad(cluster, async (writers) => {
    const since = Date.now();
    try {
      await loss.strike(victim);
      const replaced = await until("it is three again", 900, async () => {
        const healthy = await untilHealthy(alice, cluster.id, 60);
        const isThere = healthy.members.some(({ node }) => node === victim.node);
        return !(loss.elsewhere && isThere) && healthy;
      });
      const tookMs = Date.now() - since;
      await writers.untilAcceptedAfter(Date.now(), 30);
      return { since, tookMs, replaced };
    } finally {
      await loss.after(victim);
    }
  });
  const { since, tookMs, replaced } = seen.result;
  await requireNoLoss(replaced, seen);
  const gap = longestGap(seen.times, since);
  if (gap > (role === "primary" ? PRIMARY_MISSED_MS : loss.secondaryMissedMs))
    throw new Error(`without a write: ${formatGaps(seen.times, since)}`);
  return {
    note: `three again after ${seconds(tookMs)}, longest time without a write ${seconds(gap)}; ${countsOf(seen)}`,
    figures: figuresOf(seen, [gap]),
  };
}

/** Simulates a disk failure: the server ends, and its data are gone when the agent checks again. */
async function destroyVolume(victim: Member): Promise<void> {
  const { host, node } = victim;
  const agent = [`agent-${host}`];
  await stop(agent);
  try {
    process.kill(await serverOf(victim), "SIGKILL");
    const volume = join(hostDir(host), "nodes", node, "volume");
    await until(`${volume} is unmounted`, 20, async () => (await command("umount", [volume])) === "");
    const images = join(hostDir(host), "volumes");
    for (const name of await readdir(images)) if (name.startsWith(node)) await rm(join(images, name));
  } finally {
    await bring(agent);
  }
}
