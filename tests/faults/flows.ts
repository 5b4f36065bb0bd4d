import type { Event } from "@moorage/contract";
import { brokenGates } from "../kit/invariants.ts";
import { moorage } from "../kit/moorage.ts";
import { query } from "../kit/records.ts";
import { secondImage } from "../kit/second-image.ts";
import { reach, sql } from "../kit/sql.ts";
import { env } from "../kit/stack-env.ts";
import { type Tenant, tenant } from "../kit/tenant.ts";
import { until } from "../kit/until.ts";
import { type ImageStage, imageFlows } from "./image-flows.ts";
import { acceptSurely, type Offer, offerACompute } from "./transfer-flow.ts";

/** What a trial works on. `databases` and `image` are deleted at its end. */
export type Stage = {
  alice: Tenant;
  label: string;
  databases: number[];
  offer?: Offer;
  image?: ImageStage;
  /** Takes away what the trial laid somewhere itself. */
  afterwards?: () => Promise<unknown>;
};

export const newStage = (): Stage => ({ alice: tenant(), label: `fault-${Date.now()}`, databases: [] });

/** A piece of the life of a database or an image that can be struck at each of its steps. */
export type Flow = {
  /** Made without faults. */
  prepare: (stage: Stage) => Promise<void>;
  /** The request, asked until it is accepted, its end, and whether what is left is whole. */
  run: (stage: Stage) => Promise<void>;
  /** Of the steps that were seen: others may be passed at any time by work that is not this flow's. */
  owns: (step: string) => boolean;
};

const aDatabase = async ({ alice, label, databases }: Stage, more: object = {}): Promise<number> => {
  const { id } = await alice.createSurely(label, 60, more);
  databases.push(id);
  await alice.untilStatus(id, "active", 120);
  return id;
};
const idOf = ({ databases }: Stage): number => databases[0] as number;
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

/** Asked again as long as no event tells that it was accepted; then until that event has ended. */
async function surely(
  { alice }: Stage,
  id: number,
  action: Event["action"],
  ask: () => Promise<{ status: number }>,
): Promise<Event> {
  const news = async (): Promise<Event[]> =>
    (await alice.events(id)).filter((event) => event.action === action && !before.has(event.id));
  const before = new Set((await alice.events(id)).map((event) => event.id));
  await until(`${action} of ${id} is accepted`, 60, async () => (await news()).length > 0 || ((await ask()) && false));
  const ended = await until(`${action} of ${id} has ended`, 180, async () =>
    (await news()).find(({ status }) => status !== "started"),
  );
  if ((await news()).length !== 1) throw new Error(`one ${action} has ${(await news()).length} events`);
  return ended;
}

async function finished(stage: Stage, id: number, action: Event["action"], ask: () => Promise<{ status: number }>) {
  const { status, message } = await surely(stage, id, action, ask);
  if (status !== "finished") throw new Error(`${action} is ${status}: ${message}`);
}

async function stillWhole({ alice }: Stage, id: number, rows = "first"): Promise<void> {
  await alice.untilStatus(id, "active", 120);
  const found = await rowsOf(alice, id);
  if (found !== rows) throw new Error(`rows are ${found}, not ${rows}`);
}

const changedList = ["192.0.2.7", "2001:db8::7"];
const isProvision = (step: string): boolean => step.startsWith("agent.provision.");
/** What goes on by itself, whatever a tenant does. Each has tests of its own. */
export const chores = [
  "worker.daily-point",
  "worker.patchInWindow",
  "worker.delete-copy",
  "worker.delete-logs",
  "worker.sweep-timeline",
  "worker.begin-purge",
  "worker.finish-purge",
  "worker.judge-finding",
  "worker.endStaleTransfer",
  // Of a cancelled account.
  ...["api.cancelAccount", "api.stopClosedDatabase"],
  ...["stopClosedDatabase", "deleteClosedDatabase", "endClosedData", "endClosedImages"].map((name) => `worker.${name}`),
  // By the drill of a month's end.
  ...["cut-month", "start-run", "invoiceRun", "invoice-batch", "finish-run"].map((name) => `worker.${name}`),
  ...["ask", "settle", "event", "autopay", "forget"].map((name) => `charge.${name}`),
  // Only when a restore was given up.
  "worker.wantPrevious",
  "fleet.verified",
  ...["engine", "volume", "fetch", "replay", "check", "scrub", "tell"].map((name) => `agent.verify.${name}`),
  // Of the nightly copy alone, and of logs that have been in the archive for hours.
  "agent.copy.begin",
  "agent.ship.purge",
  "agent.disk.close",
  "agent.disk.open",
  "agent.disk.grow",
];
const isBackground = (step: string): boolean =>
  /^agent\.(copy|ship|verify|discard)\./.test(step) || chores.includes(step);
/** Steps of the request, the workflow, the relay and the gateway; and those that the host takes for this flow. */
const owning =
  (...tables: string[]) =>
  (step: string): boolean =>
    tables.some((table) => step.startsWith(`agent.${table}.`)) || (!isProvision(step) && !isBackground(step));

const act = (stage: Stage, what: string, body?: object) => () => stage.alice.act(idOf(stage), what, body);

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

const imageOf = async (id: number): Promise<string> =>
  (await query<{ image: string }>("select image from databases where id = $1", [id]))[0]?.image ?? "";

/** Of the two images of the drills, the one that the database does not have. */
async function otherImage(id: number): Promise<string> {
  const second = await secondImage();
  return (await imageOf(id)) === second ? env("MOORAGE_IMAGE") : second;
}
