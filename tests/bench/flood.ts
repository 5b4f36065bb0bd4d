import autocannon from "autocannon";
import { startApi } from "../kit/api-process.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";

const ROUNDS = 8;
const SECONDS = 4;
const CALM_PER_SECOND = 50;
const FLOOD_PER_SECOND = 1_000;
const view = (id: number): string => `/v4/databases/mysql/instances/${id}`;

/** Whether an account notices that another one floods the API far beyond its rate limit. */
export async function benchFlood(): Promise<boolean> {
  const alice = tenant();
  const { id } = await alice.createSurely(`flood-${Date.now()}`);
  await alice.untilStatus(id, "active");
  // Ten times the documented limits, so that the calm account stays within its limit for the whole bench.
  await using api = await startApi({ MOORAGE_RATE_LIMITS: "10" });
  const calm = { token: env("MOORAGE_TOKEN"), perSecond: CALM_PER_SECOND };
  const flood = { token: env("MOORAGE_OTHER_TOKEN"), perSecond: FLOOD_PER_SECOND };
  const pairs: { alone: number; beside: number }[] = [];
  let refused = 0;
  let sent = 0;
  // The flooding account uses up its budget before the measurement, as in the second minute of any flood.
  await load(api.url, 1, flood, 5 * SECONDS);
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await load(api.url, id, calm, SECONDS);
    const [beside, other] = await Promise.all([load(api.url, id, calm, SECONDS), load(api.url, 1, flood, SECONDS + 1)]);
    for (const result of [alone, beside])
      if (result.non2xx > 0) throw new Error(`the calm account was refused ${result.non2xx} times`);
    pairs.push({ alone: alone.latency.p99, beside: beside.latency.p99 });
    refused += other.statusCodeStats?.["429"]?.count ?? 0;
    sent += other.requests.total;
  }
  await alice.deleteSurely(id);
  await alice.untilEvent(id, "database_delete");
  const ratios = pairs.map(({ alone, beside }) => beside / alone).sort((a, b) => a - b);
  const median = ((ratios[ROUNDS / 2 - 1] as number) + (ratios[ROUNDS / 2] as number)) / 2;
  console.log(
    `p99 of ${CALM_PER_SECOND} views/s, alone ${pairs.map(({ alone }) => alone).join(" ")} ms, beside a flood of ${FLOOD_PER_SECOND}/s ${pairs.map(({ beside }) => beside).join(" ")} ms`,
  );
  console.log(
    `${refused} of ${sent} requests of the flood were refused; median of the ratios ${median.toFixed(2)} (goal: below 1.5)`,
  );
  return median < 1.5;
}

const load = (url: string, id: number, { token, perSecond }: { token: string; perSecond: number }, seconds: number) =>
  autocannon({
    url: `${url}${view(id)}`,
    connections: 10,
    overallRate: perSecond,
    duration: seconds,
    headers: { authorization: `Bearer ${token}` },
  });
