import { env } from "../kit/stack-env.ts";
import type { Configuration, Workspace } from "./terraform-workspace.ts";

export type Size = { nodes: 1 | 3; type: string; bigger: string };

const engines = { linode_database_engines: { mysql: { latest: true, filter: { name: "engine", values: ["mysql"] } } } };
const V2 = "linode_database_mysql_v2";
const LEGACY = "linode_database_mysql";

const window = { day_of_week: 3, duration: 2, hour_of_day: 4, frequency: "weekly" };

/** The lifecycle of a database in the resource of both generations. */
export async function databaseLifecycle(tf: Workspace, label: string, { nodes, type, bigger }: Size): Promise<void> {
  const main = {
    label,
    region: env("MOORAGE_REGION"),
    type,
    cluster_size: nodes,
    engine_id: "${data.linode_database_engines.mysql.engines[0].id}",
    allow_list: ["192.0.2.1", "198.51.100.0/24"],
  };
  const only = (database: object): Configuration => ({ data: engines, resource: { [V2]: { main: database } } });
  const address = `${V2}.main`;
  if (!(await tf.apply("create", only(main), "1 added, 0 changed, 0 destroyed"))) return;

  const changed = {
    ...main,
    label: `${label}-b`,
    updates: window,
    allow_list: ["203.0.113.0/24", "2001:db8::/32", "192.0.2.1"],
  };
  const inPlace = "0 added, 1 changed, 0 destroyed";
  await tf.apply("change of label, allow list and window", only(changed), inPlace);
  await tf.apply("suspend", only({ ...changed, suspended: true }), inPlace);
  await tf.apply("resume", only(changed), inPlace);
  const resized = { ...changed, type: bigger };
  await tf.apply("resize", only(resized), inPlace);

  await forks(tf, resized, type);
  const { id } = await tf.attributes(address);
  await tf.importAgain("import", address, String(id));
  await tf.apply("replace", only(resized), "1 added, 0 changed, 1 destroyed", `-replace=${address}`);
  await tf.destroy("destroy", 1);
}

/** A fork of the current data, with its allow list as a separate resource, and a fork of a moment ago. */
async function forks(tf: Workspace, source: { label: string }, type: string): Promise<void> {
  const { allow_list: _list, ...rest } = source as { label: string; allow_list: string[] };
  const forked = { ...rest, type, fork_source: `\${${V2}.main.id}` };
  const now = { ...forked, label: `${source.label}-now` };
  const past = { ...forked, label: `${source.label}-past`, fork_restore_time: momentAgo() };
  const allowed = { database_id: `\${${V2}.now.id}`, database_type: "mysql", allow_list: ["192.0.2.7"] };
  const withForks = {
    data: { ...engines, [V2]: { fork: { id: `\${${V2}.now.id}` } } },
    resource: {
      [V2]: { main: source, now, past },
      linode_database_access_controls: { now: allowed },
    },
  };
  await tf.apply("fork, of now and of a time", withForks, "3 added, 0 changed, 0 destroyed");
  const { id } = await tf.attributes(`${V2}.past`);
  await tf.importAgain("import of a fork", `${V2}.past`, String(id));
  await tf.apply(
    "destroy of the forks",
    { data: engines, resource: { [V2]: { main: source } } },
    "0 added, 0 changed, 3 destroyed",
  );
}

/** Whole seconds, as the provider and the API compare them. */
const momentAgo = (): string => `${new Date(Date.now() - 2000).toISOString().slice(0, 19)}Z`;

/**
 * The lifecycle of a database in the resource that only the second generation has. It supports neither resize nor
 * suspend.
 */
export async function legacyDatabaseLifecycle(tf: Workspace, label: string, { nodes, type }: Size): Promise<void> {
  const main = {
    label,
    region: env("MOORAGE_REGION"),
    type,
    cluster_size: nodes,
    ssl_connection: true,
    engine_id: env("MOORAGE_ENGINE"),
    replication_type: nodes === 3 ? "semi_synch" : "none",
    allow_list: ["192.0.2.1", "198.51.100.0/24"],
  };
  const only = (database: object): Configuration => ({
    data: { [LEGACY]: { main: { database_id: `\${${LEGACY}.main.id}` } } },
    resource: { [LEGACY]: { main: database } },
  });
  const address = `${LEGACY}.main`;
  if (!(await tf.apply("create", only(main), "1 added, 0 changed, 0 destroyed"))) return;

  const changed = {
    ...main,
    label: `${label}-b`,
    allow_list: ["203.0.113.0/24", "2001:db8::/32"],
    updates: { day_of_week: "wednesday", duration: 2, hour_of_day: 4, frequency: "monthly", week_of_month: 2 },
  };
  await tf.apply("change of label, allow list and window", only(changed), "0 added, 1 changed, 0 destroyed");
  const { id } = await tf.attributes(address);
  await tf.importAgain("import", address, String(id));
  await tf.apply("replace", only(changed), "1 added, 0 changed, 1 destroyed", `-replace=${address}`);
  await tf.destroy("destroy", 1);
}

export const plainDatabase = (label: string): Configuration => ({
  resource: {
    [V2]: {
      main: { label, region: env("MOORAGE_REGION"), type: env("MOORAGE_TYPE"), engine_id: "mysql/9" },
    },
  },
});
