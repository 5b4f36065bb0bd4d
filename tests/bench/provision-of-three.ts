import { membersOf, THREE_NODES } from "../kit/cluster.ts";
import { tenant } from "../kit/tenant.ts";
import { median, nodeConfig, print, rawFloor } from "./provision.ts";

const ROUNDS = 8;
const GOAL = 4;

/** Create of three nodes to `active`, alternating with the raw floor of one node, on separate hosts. */
export async function benchProvisionOfThree(): Promise<boolean> {
  const alice = tenant();
  const one = await alice.createSurely(`bench-${Date.now()}`);
  await alice.untilStatus(one.id, "active");
  const config = await nodeConfig(one.id);

  const floors: number[] = [];
  const creates: number[] = [];
  let inMembers = true;
  // The first round is not counted: its caches are cold.
  for (let round = -1; round < ROUNDS; round++) {
    const floor = await rawFloor(config);
    const started = performance.now();
    const { status, body } = await alice.create(`bench-${Date.now()}`, undefined, THREE_NODES);
    if (status !== 200) throw new Error(`create was answered ${status}: ${JSON.stringify(body)}`);
    await alice.untilStatus(body.id, "active", 180);
    const took = performance.now() - started;
    inMembers &&= new Set((await membersOf(body.id)).map(({ host }) => host)).size === 3;
    await remove(body.id);
    if (round < 0) continue;
    floors.push(floor);
    creates.push(took);
  }
  await remove(one.id);
  const ratio = median(creates.map((ms, round) => ms / (floors[round] as number)));
  print("raw floor of one node, ms", floors);
  print("create of three to active, ms", creates);
  console.log(
    `median ratio ${ratio.toFixed(2)} (goal: at most ${GOAL}); ${inMembers ? "all" : "NOT all"} on three hosts`,
  );
  return inMembers && ratio <= GOAL;

  async function remove(id: number): Promise<void> {
    await alice.deleteSurely(id);
    await alice.untilEvent(id, "database_delete", 120);
  }
}
