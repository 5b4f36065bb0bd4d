import { beforeAll, expect, test } from "vitest";
import { THREE_NODES, untilHealthy } from "../kit/cluster.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { type Watched, watchProgress } from "../kit/progress-watch.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { unique } from "../kit/unique.ts";

const alice = tenant();
/** The minimum number of operations to start; each lifecycle of a database has a dozen. */
const operationCount = Number(process.env["MOORAGE_PROGRESS_OPERATIONS"] ?? 15);
const atOnce = operationCount > 50 ? 3 : 1;
const PATIENCE = 900;

beforeAll(() => allowDeletions(4 * operationCount));

let started = 0;
let lives = 0;

async function created(more: object): Promise<number> {
  started++;
  const { status, body } = await alice.create(unique(`progress${++lives}`), undefined, more);
  if (status !== 200) throw new Error(`create was refused: ${status} ${JSON.stringify(body)}`);
  await alice.untilStatus(body.id, "active", PATIENCE);
  return body.id;
}
const acted = (id: number, what: string, action: Parameters<typeof alice.actAndWait>[2], body?: object) => {
  started++;
  return alice.actAndWait(id, what, action, body, PATIENCE);
};
async function deleted(id: number): Promise<void> {
  started++;
  await alice.deleteSurely(id, PATIENCE);
  await alice.untilEnded(id, "database_delete", PATIENCE);
}
async function resized(id: number, type: string): Promise<void> {
  started++;
  const { status, body } = await alice.update(id, { type });
  if (status !== 200) throw new Error(`resize was refused: ${status} ${JSON.stringify(body)}`);
  await alice.untilEnded(id, "database_resize", PATIENCE);
  await alice.untilStatus(id, "active", PATIENCE);
}
async function restored(id: number): Promise<void> {
  await acted(id, "backups", "database_backup_create", { label: "point" });
  const [backup] = await alice.backups(id);
  await acted(id, `backups/${backup?.id}/restore`, "database_backup_restore");
  await alice.untilStatus(id, "active", PATIENCE);
}

async function lifecycleOfOne(): Promise<void> {
  const id = await created({});
  started++;
  await alice.admit(id, [env("MOORAGE_CLIENT_A_ADDR"), env("MOORAGE_CLIENT_B_ADDR")]);
  await restored(id);
  await acted(id, "credentials/reset", "database_credentials_reset");
  await resized(id, "m1-medium");
  await acted(id, "suspend", "database_update");
  await acted(id, "resume", "database_update");
  const fork = await created({ type: "m1-medium", fork: { source: id } });
  await Promise.all([deleted(id), deleted(fork)]);
}

async function lifecycleOfThree(): Promise<void> {
  const id = await created(THREE_NODES);
  const untilAllHealthy = () => untilHealthy(alice, id, PATIENCE);
  await untilAllHealthy();
  await acted(id, "switchover", "database_switchover");
  await untilAllHealthy();
  await restored(id);
  await untilAllHealthy();
  await acted(id, "suspend", "database_update");
  await acted(id, "resume", "database_update");
  await untilAllHealthy();
  await deleted(id);
}

test("the progress of operations never falls, whatever they are and however many run at once", async () => {
  const watch = watchProgress(alice);
  const lane = async (lifecycle: () => Promise<void>): Promise<void> => {
    do {
      await lifecycle();
      // A run that is ended early has printed its progress.
      console.log(`progress: ${started} operations so far, ${watch.faults.length} faults`);
    } while (started < operationCount);
  };
  try {
    await Promise.all([lane(lifecycleOfThree), ...Array.from({ length: atOnce }, () => lane(lifecycleOfOne))]);
  } finally {
    await watch.stop();
  }

  console.log(tableOf([...watch.seen.values()]));
  console.log(`progress: ${started} operations, ${watch.seen.size} events, ${watch.faults.length} faults`);
  expect(watch.faults).toEqual([]);
  expect(started).toBeGreaterThanOrEqual(operationCount);
}, 7_200_000);

function tableOf(all: readonly Watched[]): string {
  const actions = [...new Set(all.map(({ action }) => action))].sort();
  return actions
    .map((action) => {
      const own = all.filter((event) => event.action === action);
      const samples = own.reduce((sum, event) => sum + event.samples, 0);
      const most = own.toSorted((one, other) => other.percents.length - one.percents.length)[0];
      return `${action.padEnd(30)} ${String(own.length).padStart(4)} events ${String(samples).padStart(6)} looks  ${most?.percents.join(" ")}`;
    })
    .join("\n");
}
