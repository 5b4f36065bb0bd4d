import type { Event } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import { withRoot } from "../../../packages/agent/src/mysql/node-sql.ts";
import { runStatement, clientA } from "../../kit/client.ts";
import { type Member, membersOf, othersThan, ownView, socketOf, untilHealthy } from "../../kit/cluster.ts";
import { serverOf } from "../../kit/cluster-faults.ts";
import { moorage } from "../../kit/moorage.ts";
import { query } from "../../kit/records.ts";
import { imageOf, otherImage } from "../../kit/second-image.ts";
import { env } from "../../kit/stack-env.ts";
import { act, type Flow, finished, idOf, owning, type Fixture } from "../flow.ts";
import { asynchFlows } from "./asynch-flows.ts";
import { aCluster, insert, stillHealthy, withARow } from "./cluster-fixture.ts";

/** Steps that only clusters pass. */
const stepsOfThree = [
  "api.switchMysqlPrimary",
  "api.promoteMysqlNode",
  ...["advanceRoll", "advanceBootstrap", "retryBootstrap", "requestPrimary", "checkPrimary", "endPrimaryRequest"].map(
    (name) => `worker.${name}`,
  ),
  ...["placeReplacement", "tombstoneReplaced", "whyStuck", "checkRecloned"].map((name) => `worker.${name}`),
  "end.bootstrapGroup",
  "end.switchOver",
  "end.replaceNode",
];
export const isClusterStep = (step: string): boolean =>
  /^agent\.(group|errant)\./.test(step) || stepsOfThree.includes(step);

export const clusterFlows = {
  createOfThree: {
    prepare: async () => {},
    run: async (fixture) => void (await aCluster(fixture, { encrypted: true })),
    owns: owning("provision", "group"),
  },
  /** The first member dies after it bootstrapped the group and before another has joined it. */
  createBootstrappedTwice: {
    prepare: async () => {},
    run: async (fixture) => {
      // On a busy machine another may join before the first one is killed: then again, with another database.
      for (let n = 1; !(await isBootstrappedTwice(fixture, n)); n++)
        if (n === MOST_TRIES) throw new Error("it was joined before it died");
    },
    owns: owning("provision", "group"),
  },
  deleteOfThree: {
    prepare: async (fixture) => void (await aCluster(fixture)),
    run: async (fixture) => {
      await fixture.alice.deleteSurely(idOf(fixture));
      await fixture.alice.untilEvent(idOf(fixture), "database_delete", 120);
    },
    owns: owning("tombstone", "ship"),
  },
  listOfThree: {
    prepare: withARow,
    run: async (fixture) => {
      const sources = [clientA().address, "192.0.2.7"];
      const change = () => fixture.alice.update(idOf(fixture), { allow_list: sources });
      await finished(fixture, idOf(fixture), "database_update", change);
      await stillHealthy(fixture);
    },
    owns: owning("firewall"),
  },
  switchover: {
    prepare: withARow,
    run: async (fixture) => {
      const before = await untilHealthy(fixture.alice, idOf(fixture), 60);
      await finished(fixture, idOf(fixture), "database_switchover", act(fixture, "switchover"));
      const { primary } = await stillHealthy(fixture);
      if (primary.node === before.primary.node) throw new Error("the primary is the one from before");
    },
    owns: owning("group"),
  },
  patchOfThree: {
    prepare: async (fixture) => {
      await withARow(fixture);
      await moorage("engine", "image", env("MOORAGE_ENGINE"), await otherImage(idOf(fixture)));
    },
    run: async (fixture) => {
      const desiredImage = await otherImage(idOf(fixture));
      await finished(fixture, idOf(fixture), "database_update", act(fixture, "patch"));
      await stillHealthy(fixture);
      if ((await imageOf(idOf(fixture))) !== desiredImage) throw new Error("it has the image from before");
    },
    owns: owning("provision", "group"),
  },
  suspendOfThree: {
    prepare: withARow,
    run: async (fixture) => {
      await finished(fixture, idOf(fixture), "database_update", act(fixture, "suspend"));
      await fixture.alice.untilStatus(idOf(fixture), "suspended");
      await finished(fixture, idOf(fixture), "database_update", act(fixture, "resume"));
      await stillHealthy(fixture);
    },
    owns: owning("power-off", "ship", "provision", "group"),
  },
  backupOfThree: {
    prepare: withARow,
    run: async (fixture) => {
      const id = idOf(fixture);
      await finished(fixture, id, "database_backup_create", act(fixture, "backups", { label: "drill" }));
      await stillHealthy(fixture);
    },
    owns: owning("copy"),
  },
  restoreOfThree: {
    prepare: async (fixture) => {
      await withARow(fixture);
      const id = idOf(fixture);
      await fixture.alice.actAndWait(id, "backups", "database_backup_create", { label: "drill" });
      const { door } = await stillHealthy(fixture);
      await runStatement(clientA(), door, insert("second"));
    },
    run: async (fixture) => {
      const id = idOf(fixture);
      const [backup] = await fixture.alice.backups(id);
      await finished(fixture, id, "database_backup_restore", act(fixture, `backups/${backup?.id}/restore`));
      await stillHealthy(fixture);
    },
    owns: owning("restore", "discard", "provision", "group", "ship"),
  },
  /** Starts without a request: every server dies, and a new group is bootstrapped from their data. */
  bootstrapGroup: {
    prepare: withARow,
    run: async (fixture) => {
      const { members } = await stillHealthy(fixture);
      for (const pid of await Promise.all(members.map(serverOf))) process.kill(pid, "SIGKILL");
      await repaired(fixture, "database_group_form");
    },
    owns: owning("provision", "group"),
  },
  /** A member with errant transactions is replaced on another host or re-cloned in place. */
  replaceNode: {
    prepare: withARow,
    run: async (fixture) => {
      const { primary, members } = await stillHealthy(fixture);
      await diverge(othersThan(primary, members)[0] as Member);
      await repaired(fixture, "database_node_replace");
    },
    owns: owning("provision", "group", "tombstone"),
  },
  ...asynchFlows,
} satisfies Record<string, Flow>;

const MOST_TRIES = 5;

async function isBootstrappedTwice(fixture: Fixture, n: number): Promise<boolean> {
  const own: Fixture = { ...fixture, label: `${fixture.label}-${n}`, databases: [] };
  try {
    await Promise.all([aCluster(own), firstDies(own)]);
  } finally {
    fixture.databases.push(...own.databases);
  }
  const bootstraps = await query(
    `select phase from desired_phases join operations on operations.id = operation_id
     where entity_id = $1 and kind = 'provisionDatabase' and phase like 'bootstrap %'`,
    [idOf(own)],
  );
  return bootstraps.length > 0;
}

async function firstDies(fixture: Fixture): Promise<void> {
  const { first, online } = await until("its first member has begun", 120, async () => {
    const [member] = await membersOf(idOf(fixture));
    const view = member === undefined ? undefined : await ownView(member);
    return member !== undefined && view?.online !== undefined && { first: member, online: view.online };
  });
  if (online === 1) process.kill(await serverOf(first), "SIGKILL");
}

/** Starts without a request; an event reports its beginning and its end. */
async function repaired(fixture: Fixture, action: Event["action"]): Promise<void> {
  const news = async (): Promise<Event[]> =>
    (await fixture.alice.events(idOf(fixture))).filter((event) => event.action === action);
  await until("its loss is noticed", 180, async () => (await news()).length > 0);
  await until("it is repaired", 300, async () => (await news()).some(({ status }) => status === "finished"));
  await stillHealthy(fixture);
}

/** An errant transaction, as a person with root on a host could make one by mistake. */
const diverge = (member: Member): Promise<unknown> =>
  withRoot(socketOf(member), async (connection) => {
    await connection.query("stop group_replication");
    await connection.query("set global super_read_only = off");
    await connection.query("create database strayed");
  });
