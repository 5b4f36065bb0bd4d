import { brokenFirewalls } from "../kit/invariants.ts";
import { moorage } from "../kit/moorage.ts";
import { imageOf, otherImage } from "../kit/second-image.ts";
import { reach, sql } from "../kit/sql.ts";
import { env } from "../kit/stack-env.ts";
import type { Tenant } from "../kit/tenant.ts";
import { clusterFlows } from "./clusters/cluster-flows.ts";
import { act, type Flow, finished, idOf, owning, type Fixture } from "./flow.ts";
import { imageFlows } from "./image-flows.ts";
import { acceptSurely, type Offer, offerACompute } from "./transfer-flow.ts";

const aDatabase = async ({ alice, label, databases }: Fixture, more: object = {}): Promise<number> => {
  const { id } = await alice.createSurely(label, 60, more);
  databases.push(id);
  await alice.untilStatus(id, "active", 120);
  return id;
};
const rowsOf = async (alice: Tenant, id: number): Promise<string> =>
  sql(await reach(alice, id), "select group_concat(note order by id) from shop.notes");

/** Contains a row that must still be there afterwards. */
async function withARow(fixture: Fixture): Promise<void> {
  const id = await aDatabase(fixture);
  await sql(
    await reach(fixture.alice, id),
    "create database shop; create table shop.notes (id int auto_increment primary key, note text); insert into shop.notes (note) values ('first')",
  );
}

async function stillHealthy({ alice }: Fixture, id: number, rows = "first"): Promise<void> {
  await alice.untilStatus(id, "active", 120);
  const found = await rowsOf(alice, id);
  if (found !== rows) throw new Error(`rows are ${found}, not ${rows}`);
}

const changedList = ["192.0.2.7", "2001:db8::7"];

export const flows = {
  provision: {
    prepare: async () => {},
    // Encrypted, because that passes every step.
    run: async (fixture) => void (await aDatabase(fixture, { encrypted: true })),
    owns: owning("provision"),
  },
  update: {
    prepare: async (fixture) => void (await aDatabase(fixture)),
    run: async (fixture) => {
      const id = idOf(fixture);
      await finished(fixture, id, "database_update", () => fixture.alice.update(id, { allow_list: changedList }));
      await fixture.alice.untilStatus(id, "active", 120);
      const broken = await brokenFirewalls();
      if (broken.length > 0) throw new Error(broken.join("; "));
    },
    owns: owning(),
  },
  delete: {
    prepare: async (fixture) => void (await aDatabase(fixture)),
    run: async (fixture) => {
      await fixture.alice.deleteSurely(idOf(fixture));
      await fixture.alice.untilEvent(idOf(fixture), "database_delete", 120);
    },
    owns: owning("tombstone", "ship"),
  },
  backup: {
    prepare: withARow,
    run: async (fixture) => {
      const id = idOf(fixture);
      await finished(fixture, id, "database_backup_create", act(fixture, "backups", { label: "drill" }));
      const labels = (await fixture.alice.backups(id)).map(({ label }) => label);
      if (labels.join() !== "drill") throw new Error(`the backups are [${labels.join()}]`);
      await stillHealthy(fixture, id);
      await deleteBackup(fixture, id);
    },
    owns: owning("copy"),
  },
  restore: {
    prepare: async (fixture) => {
      await withARow(fixture);
      const id = idOf(fixture);
      await fixture.alice.actAndWait(id, "backups", "database_backup_create", { label: "drill" });
      await sql(await reach(fixture.alice, id), "insert into shop.notes (note) values ('second')");
    },
    run: async (fixture) => {
      const id = idOf(fixture);
      const [backup] = await fixture.alice.backups(id);
      await finished(fixture, id, "database_backup_restore", act(fixture, `backups/${backup?.id}/restore`));
      await stillHealthy(fixture, id, "first");
    },
    owns: owning("restore", "discard", "provision", "ship"),
  },
  fork: {
    prepare: withARow,
    run: async (fixture) => {
      const { id } = await fixture.alice.createSurely(`${fixture.label}-fork`, 60, { fork: { source: idOf(fixture) } });
      fixture.databases.push(id);
      await stillHealthy(fixture, id);
      await stillHealthy(fixture, idOf(fixture));
    },
    owns: owning("restore", "provision", "ship"),
  },
  resize: {
    prepare: withARow,
    run: async (fixture) => {
      const id = idOf(fixture);
      await finished(fixture, id, "database_resize", () => fixture.alice.update(id, { type: "m1-medium" }));
      await stillHealthy(fixture, id);
      const { type } = (await fixture.alice.view(id)).body;
      if (type !== "m1-medium") throw new Error(`it is still ${type}`);
    },
    owns: owning("provision"),
  },
  suspend: {
    prepare: withARow,
    run: async (fixture) => {
      const id = idOf(fixture);
      await finished(fixture, id, "database_update", act(fixture, "suspend"));
      await fixture.alice.untilStatus(id, "suspended");
      await resumed(fixture);
    },
    owns: owning("power-off", "ship"),
  },
  resume: {
    prepare: async (fixture) => {
      await withARow(fixture);
      await fixture.alice.actAndWait(idOf(fixture), "suspend", "database_update");
    },
    run: async (fixture) => {
      await finished(fixture, idOf(fixture), "database_update", act(fixture, "resume"));
      await stillHealthy(fixture, idOf(fixture));
    },
    owns: owning("provision"),
  },
  patch: {
    prepare: async (fixture) => {
      await withARow(fixture);
      await moorage("engine", "image", env("MOORAGE_ENGINE"), await otherImage(idOf(fixture)));
    },
    run: async (fixture) => {
      const id = idOf(fixture);
      const desiredImage = await otherImage(id);
      await finished(fixture, id, "database_update", act(fixture, "patch"));
      await stillHealthy(fixture, id);
      if ((await imageOf(id)) !== desiredImage) throw new Error("it has the image from before");
    },
    owns: owning("provision"),
  },
  reset: {
    prepare: withARow,
    run: async (fixture) => {
      const id = idOf(fixture);
      const before = await fixture.alice.credentials(id);
      await finished(fixture, id, "database_credentials_reset", act(fixture, "credentials/reset"));
      await stillHealthy(fixture, id);
      const old = await sql({ ...(await reach(fixture.alice, id)), ...before }, "select 1").catch(() => "refused");
      if (old !== "refused") throw new Error("the old password still opens it");
    },
    owns: owning("provision"),
  },
  transfer: {
    prepare: async (fixture) => {
      fixture.offer = await offerACompute(fixture.alice, fixture.label);
    },
    run: (fixture) => acceptSurely(fixture.offer as Offer),
    owns: owning(),
  },
  ...imageFlows,
  ...clusterFlows,
} satisfies Record<string, Flow>;
export type FlowName = keyof typeof flows;

async function deleteBackup(fixture: Fixture, id: number): Promise<void> {
  const [backup] = await fixture.alice.backups(id);
  await finished(fixture, id, "database_backup_delete", () => fixture.alice.deleteBackup(id, backup?.id ?? 0));
  if ((await fixture.alice.backups(id)).length > 0) throw new Error("the deleted backup is still there");
}

/** Only an active database can be deleted. */
async function resumed(fixture: Fixture): Promise<void> {
  await finished(fixture, idOf(fixture), "database_update", act(fixture, "resume"));
  await stillHealthy(fixture, idOf(fixture));
}
