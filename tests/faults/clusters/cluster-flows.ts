import type { Event } from "@moorage/contract";
import { withRoot } from "../../../packages/agent/src/mysql/node-sql.ts";
import { ask, placeA } from "../../kit/client.ts";
import { type Member, membersOf, othersThan, ownView, socketOf, untilHealthy } from "../../kit/cluster.ts";
import { serverOf } from "../../kit/cluster-faults.ts";
import { moorage } from "../../kit/moorage.ts";
import { query } from "../../kit/records.ts";
import { imageOf, otherImage } from "../../kit/second-image.ts";
import { env } from "../../kit/stack-env.ts";
import { until } from "../../kit/until.ts";
import { act, type Flow, finished, idOf, owning, type Stage } from "../flow.ts";
import { asynchFlows } from "./asynch-flows.ts";
import { aCluster, insert, stillWhole, withARow } from "./three-stage.ts";

/** Steps that only a database of three passes. */
const stepsOfThree = [
  "api.switchMysqlPrimary",
  "api.promoteMysqlNode",
  ...["rollOn", "formOn", "formAgain", "settleForming", "wantLead", "checkLead", "endLead", "settleSwitchover"].map(
    (name) => `worker.${name}`,
  ),
  ...["placeReplacement", "buryReplaced", "whyStuck", "settleReplacing", "checkRenewed"].map(
    (name) => `worker.${name}`,
  ),
];
export const isClusterStep = (step: string): boolean =>
  /^agent\.(group|tail)\./.test(step) || stepsOfThree.includes(step);

export const clusterFlows = {
  createOfThree: {
    prepare: async () => {},
    run: async (stage) => void (await aCluster(stage, { encrypted: true })),
    owns: owning("provision", "group"),
  },
  /** Its first member dies when it has begun their group, before another has joined it. */
  createBegunTwice: {
    prepare: async () => {},
    run: async (stage) => {
      await Promise.all([aCluster(stage), firstDies(stage)]);
      const begun = await query(
        `select phase from wanted_phases join operations on operations.id = operation_id
         where entity_id = $1 and kind = 'provisionDatabase' and phase like 'begin %'`,
        [idOf(stage)],
      );
      if (begun.length === 0) throw new Error("it was joined before it died");
    },
    owns: owning("provision", "group"),
  },
  deleteOfThree: {
    prepare: async (stage) => void (await aCluster(stage)),
    run: async (stage) => {
      await stage.alice.deleteSurely(idOf(stage));
      await stage.alice.untilEvent(idOf(stage), "database_delete", 120);
    },
    owns: owning("tombstone", "ship"),
  },
  listOfThree: {
    prepare: withARow,
    run: async (stage) => {
      const sources = [placeA().address, "192.0.2.7"];
      const change = () => stage.alice.update(idOf(stage), { allow_list: sources });
      await finished(stage, idOf(stage), "database_update", change);
      await stillWhole(stage);
    },
    owns: owning("gate"),
  },
  switchover: {
    prepare: withARow,
    run: async (stage) => {
      const before = await untilHealthy(stage.alice, idOf(stage), 60);
      await finished(stage, idOf(stage), "database_switchover", act(stage, "switchover"));
      const { primary } = await stillWhole(stage);
      if (primary.node === before.primary.node) throw new Error("the primary is the one from before");
    },
    owns: owning("group"),
  },
  patchOfThree: {
    prepare: async (stage) => {
      await withARow(stage);
      await moorage("engine", "image", env("MOORAGE_ENGINE"), await otherImage(idOf(stage)));
    },
    run: async (stage) => {
      const wanted = await otherImage(idOf(stage));
      await finished(stage, idOf(stage), "database_update", act(stage, "patch"));
      await stillWhole(stage);
      if ((await imageOf(idOf(stage))) !== wanted) throw new Error("it has the image from before");
    },
    owns: owning("provision", "group"),
  },
  suspendOfThree: {
    prepare: withARow,
    run: async (stage) => {
      await finished(stage, idOf(stage), "database_update", act(stage, "suspend"));
      await stage.alice.untilStatus(idOf(stage), "suspended");
      await finished(stage, idOf(stage), "database_update", act(stage, "resume"));
      await stillWhole(stage);
    },
    owns: owning("power-off", "ship", "provision", "group"),
  },
  backupOfThree: {
    prepare: withARow,
    run: async (stage) => {
      const id = idOf(stage);
      await finished(stage, id, "database_backup_create", act(stage, "backups", { label: "drill" }));
      await stillWhole(stage);
    },
    owns: owning("copy"),
  },
  restoreOfThree: {
    prepare: async (stage) => {
      await withARow(stage);
      const id = idOf(stage);
      await stage.alice.actAndWait(id, "backups", "database_backup_create", { label: "drill" });
      const { door } = await stillWhole(stage);
      await ask(placeA(), door, insert("second"));
    },
    run: async (stage) => {
      const id = idOf(stage);
      const [backup] = await stage.alice.backups(id);
      await finished(stage, id, "database_backup_restore", act(stage, `backups/${backup?.id}/restore`));
      await stillWhole(stage);
    },
    owns: owning("restore", "discard", "provision", "group", "ship"),
  },
  /** Nobody asks for it: every server dies, and a new group is formed of what they have. */
  formGroup: {
    prepare: withARow,
    run: async (stage) => {
      const { members } = await stillWhole(stage);
      for (const pid of await Promise.all(members.map(serverOf))) process.kill(pid, "SIGKILL");
      await mended(stage, "database_group_form");
    },
    owns: owning("provision", "group"),
  },
  /** A member that has something which the others do not have is made anew: elsewhere, or where it is. */
  replaceNode: {
    prepare: withARow,
    run: async (stage) => {
      const { primary, members } = await stillWhole(stage);
      await stray(othersThan(primary, members)[0] as Member);
      await mended(stage, "database_node_replace");
    },
    owns: owning("provision", "group", "tombstone"),
  },
  ...asynchFlows,
} satisfies Record<string, Flow>;

async function firstDies(stage: Stage): Promise<void> {
  const first = await until("its first member has begun", 120, async () => {
    const [member] = await membersOf(idOf(stage));
    return member !== undefined && (await ownView(member))?.online === 1 && member;
  });
  process.kill(await serverOf(first), "SIGKILL");
}

/** Nobody asks for it; an event tells of its beginning and its end. */
async function mended(stage: Stage, action: Event["action"]): Promise<void> {
  const news = async (): Promise<Event[]> =>
    (await stage.alice.events(idOf(stage))).filter((event) => event.action === action);
  await until("its loss is noticed", 180, async () => (await news()).length > 0);
  await until("it is mended", 300, async () => (await news()).some(({ status }) => status === "finished"));
  await stillWhole(stage);
}

/** A transaction of its own, as a person with root on a host could make one by mistake. */
const stray = (member: Member): Promise<unknown> =>
  withRoot(socketOf(member), async (connection) => {
    await connection.query("stop group_replication");
    await connection.query("set global super_read_only = off");
    await connection.query("create database strayed");
  });
