import { brokenGates } from "../kit/invariants.ts";
import { moorage } from "../kit/moorage.ts";
import { imageOf, otherImage } from "../kit/second-image.ts";
import { reach, sql } from "../kit/sql.ts";
import { env } from "../kit/stack-env.ts";
import type { Tenant } from "../kit/tenant.ts";
import { clusterFlows } from "./clusters/cluster-flows.ts";
import { act, type Flow, finished, idOf, owning, type Stage } from "./flow.ts";
import { imageFlows } from "./image-flows.ts";
import { acceptSurely, type Offer, offerACompute } from "./transfer-flow.ts";

const aDatabase = async ({ alice, label, databases }: Stage, more: object = {}): Promise<number> => {
  const { id } = await alice.createSurely(label, 60, more);
  databases.push(id);
  await alice.untilStatus(id, "active", 120);
  return id;
};
const rowsOf = async (alice: Tenant, id: number): Promise<string> =>
  sql(await reach(alice, id), "select group_concat(note order by id) from shop.notes");

/** With a row that must still be there afterwards. */
async function withARow(stage: Stage): Promise<void> {
  const id = await aDatabase(stage);
  await sql(
    await reach(stage.alice, id),
    "create database shop; create table shop.notes (id int auto_increment primary key, note text); insert into shop.notes (note) values ('first')",
  );
}

async function stillWhole({ alice }: Stage, id: number, rows = "first"): Promise<void> {
  await alice.untilStatus(id, "active", 120);
  const found = await rowsOf(alice, id);
  if (found !== rows) throw new Error(`rows are ${found}, not ${rows}`);
}

const changedList = ["192.0.2.7", "2001:db8::7"];

export const flows = {
  provision: {
    prepare: async () => {},
    // Encrypted, because that passes every step.
    run: async (stage) => void (await aDatabase(stage, { encrypted: true })),
    owns: owning("provision"),
  },
  update: {
    prepare: async (stage) => void (await aDatabase(stage)),
    run: async (stage) => {
      const id = idOf(stage);
      await finished(stage, id, "database_update", () => stage.alice.update(id, { allow_list: changedList }));
      await stage.alice.untilStatus(id, "active", 120);
      const broken = await brokenGates();
      if (broken.length > 0) throw new Error(broken.join("; "));
    },
    owns: owning(),
  },
  delete: {
    prepare: async (stage) => void (await aDatabase(stage)),
    run: async (stage) => {
      await stage.alice.deleteSurely(idOf(stage));
      await stage.alice.untilEvent(idOf(stage), "database_delete", 120);
    },
    owns: owning("tombstone", "ship"),
  },
  backup: {
    prepare: withARow,
    run: async (stage) => {
      const id = idOf(stage);
      await finished(stage, id, "database_backup_create", act(stage, "backups", { label: "drill" }));
      const labels = (await stage.alice.backups(id)).map(({ label }) => label);
      if (labels.join() !== "drill") throw new Error(`the backups are [${labels.join()}]`);
      await stillWhole(stage, id);
      await deleteBackup(stage, id);
    },
    owns: owning("copy"),
  },
  restore: {
    prepare: async (stage) => {
      await withARow(stage);
      const id = idOf(stage);
      await stage.alice.actAndWait(id, "backups", "database_backup_create", { label: "drill" });
      await sql(await reach(stage.alice, id), "insert into shop.notes (note) values ('second')");
    },
    run: async (stage) => {
      const id = idOf(stage);
      const [backup] = await stage.alice.backups(id);
      await finished(stage, id, "database_backup_restore", act(stage, `backups/${backup?.id}/restore`));
      await stillWhole(stage, id, "first");
    },
    owns: owning("restore", "discard", "provision", "ship"),
  },
  fork: {
    prepare: withARow,
    run: async (stage) => {
      const { id } = await stage.alice.createSurely(`${stage.label}-fork`, 60, { fork: { source: idOf(stage) } });
      stage.databases.push(id);
      await stillWhole(stage, id);
      await stillWhole(stage, idOf(stage));
    },
    owns: owning("restore", "provision", "ship"),
  },
  resize: {
    prepare: withARow,
    run: async (stage) => {
      const id = idOf(stage);
      await finished(stage, id, "database_resize", () => stage.alice.update(id, { type: "m1-medium" }));
      await stillWhole(stage, id);
      const { type } = (await stage.alice.view(id)).body;
      if (type !== "m1-medium") throw new Error(`it is still ${type}`);
    },
    owns: owning("provision"),
  },
  suspend: {
    prepare: withARow,
    run: async (stage) => {
      const id = idOf(stage);
      await finished(stage, id, "database_update", act(stage, "suspend"));
      await stage.alice.untilStatus(id, "suspended");
      await resumed(stage);
    },
    owns: owning("power-off", "ship"),
  },
  resume: {
    prepare: async (stage) => {
      await withARow(stage);
      await stage.alice.actAndWait(idOf(stage), "suspend", "database_update");
    },
    run: async (stage) => {
      await finished(stage, idOf(stage), "database_update", act(stage, "resume"));
      await stillWhole(stage, idOf(stage));
    },
    owns: owning("provision"),
  },
  patch: {
    prepare: async (stage) => {
      await withARow(stage);
      await moorage("engine", "image", env("MOORAGE_ENGINE"), await otherImage(idOf(stage)));
    },
    run: async (stage) => {
      const id = idOf(stage);
      const wanted = await otherImage(id);
      await finished(stage, id, "database_update", act(stage, "patch"));
      await stillWhole(stage, id);
      if ((await imageOf(id)) !== wanted) throw new Error("it has the image from before");
    },
    owns: owning("provision"),
  },
  reset: {
    prepare: withARow,
    run: async (stage) => {
      const id = idOf(stage);
      const before = await stage.alice.credentials(id);
      await finished(stage, id, "database_credentials_reset", act(stage, "credentials/reset"));
      await stillWhole(stage, id);
      const old = await sql({ ...(await reach(stage.alice, id)), ...before }, "select 1").catch(() => "refused");
      if (old !== "refused") throw new Error("the old password still opens it");
    },
    owns: owning("provision"),
  },
  transfer: {
    prepare: async (stage) => {
      stage.offer = await offerACompute(stage.alice, stage.label);
    },
    run: (stage) => acceptSurely(stage.offer as Offer),
    owns: owning(),
  },
  ...imageFlows,
  ...clusterFlows,
} satisfies Record<string, Flow>;
export type FlowName = keyof typeof flows;

async function deleteBackup(stage: Stage, id: number): Promise<void> {
  const [backup] = await stage.alice.backups(id);
  await finished(stage, id, "database_backup_delete", () => stage.alice.deleteBackup(id, backup?.id ?? 0));
  if ((await stage.alice.backups(id)).length > 0) throw new Error("the deleted backup is still there");
}

/** Only an active database can be deleted. */
async function resumed(stage: Stage): Promise<void> {
  await finished(stage, idOf(stage), "database_update", act(stage, "resume"));
  await stillWhole(stage, idOf(stage));
}
