import type { Recipe, RecipeReply } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { dueVerification } from "../../packages/agent/src/restore/verification.ts";
import type { LastVerification } from "../../packages/agent/src/specs/node-state.ts";
import { createAlertsJob } from "../../packages/control-plane/src/databases/jobs/alerts-job.ts";
import { archiveWorld } from "../../packages/control-plane/src/testing/archived-database.ts";
import { archivedThrough, midnightAfter } from "../../packages/control-plane/src/testing/archive-records.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS = 40;

type Listed = { data: { type: string; created: string; verified: string | null }[] };
type Host = { /** How many hours a verification takes. */ takes: number; finds: (day: number) => boolean };

/** Forty days, every third hour: the host verifies when its own rule says so, and the tenant lists the backups. */
async function fortyDays({ takes, finds }: Host) {
  await using fixture = await archiveWorld();
  const { world } = fixture;
  const { id, spec, timeline, customer, call } = await fixture.database();
  await world.activities.endChange((await world.lastOperation()).id, { done: true });
  const judge = createAlertsJob(world);
  const first = midnightAfter(world.time.now).getTime();

  let last: LastVerification | undefined;
  let trying: { point: Recipe["point"]; since: number } | undefined;
  const verify = async (hour: number): Promise<void> => {
    if (trying === undefined && dueVerification(world.time.now, last, spec, "1.0.0")) {
      const { body } = await call<RecipeReply>("/v1/recipe", { purpose: "verify" });
      trying = { point: body.recipe.point, since: hour };
    }
    if (trying === undefined || hour < trying.since + takes) return;
    const ok = finds(Math.floor(hour / 24));
    await call("/v1/verified", { timeline, point: trying.point, ok, message: "Tried." });
    await judge();
    last = { at: world.time.now.toISOString(), ok, image: spec.engine.image, agent: "1.0.0" };
    trying = undefined;
  };

  const seen: { results: number; verified: number; inARow: boolean }[] = [];
  for (let hour = 1; hour < DAYS * 24; hour += 3) {
    world.time.now = new Date(first + hour * HOUR_MS);
    await archivedThrough(world, { id });
    await world.run("dailyPoints");
    await verify(hour);
    const { data } = (await customer.get<Listed>(`/v4/databases/mysql/instances/${id}/backups`)).body;
    const midnights = data.map(({ created }) => Date.parse(`${created}Z`)).toSorted((a, b) => b - a);
    seen.push({
      results: data.length,
      verified: data.filter(({ verified }) => verified !== null).length,
      inARow: midnights.every((at, n) => at === first + (Math.floor(hour / 24) - n) * DAY_MS),
    });
  }
  const firstVerified = seen.findIndex(({ verified }) => verified > 0);
  return {
    most: Math.max(...seen.map(({ results }) => results)),
    everVerified: firstVerified >= 0,
    alwaysVerifiedSince: seen.slice(firstVerified).every(({ verified }) => verified > 0),
    everyMidnightOfTheWeek: seen.every(({ inARow }) => inARow),
  };
}

const kept = { most: 7, everVerified: true, alwaysVerifiedSince: true };

test.each([
  ["an hour", 1],
  ["half a day", 12],
])(
  "forty days with verifications of %s: seven backups, one of them verified, no midnight missing",
  async (_, takes) => {
    expect(await fortyDays({ takes, finds: () => true })).toMatchObject({ ...kept, everyMidnightOfTheWeek: true });
  },
);

test("twelve days of failing verification: never eight backups, and the last verified one stays", async () => {
  const host = { takes: 1, finds: (day: number) => day < 8 || day >= 20 };
  expect(await fortyDays(host)).toMatchObject({ ...kept, everyMidnightOfTheWeek: false });
});
