import type { Event } from "@moorage/contract";
import { env } from "../kit/stack-env.ts";
import type { Tenant } from "../kit/tenant.ts";
import type { Checks } from "./checks.ts";
import { type ClientThings, tenantSql, KEPT_ROW } from "./client-things.ts";
import { gone, one } from "./linode-cli-identity.ts";
import { type Cli, differs, lacks, type Row } from "./linode-cli-rows.ts";

type Check = Checks["check"];
const WAIT_SECONDS = 900;

/**
 * A database from its creation to its deletion. The program has no waiter for databases, and each command starts Python
 * again: the test does the waiting, and then checks what the program prints.
 */
export async function database(cli: Cli, things: ClientThings, check: Check): Promise<void> {
  const { owner } = things.account;
  const id = await create(cli, owner, things.label, check);
  if (id === undefined) return;
  await read(cli, id, things.label, check);
  await events(cli, id, check);
  const actAndWait = actAndWaitOn(cli, owner, id, check);
  await actAndWait("mysql-update", ["--allow_list", env("MOORAGE_CLIENT_A_ADDR")], "database_update");
  const runStatement = (statement: string) => runWithShownCredentials(cli, id, things.folder, statement);
  await check("mysql-creds-view and mysql-ssl-cert, and mysql with them", () => runStatement("SELECT 1"), is("1"));
  await backups(cli, id, runStatement, actAndWait, check);
  await actAndWait("mysql-creds-reset", [], "database_credentials_reset");
  await check("mysql with the new password", () => runStatement("SELECT 1"), is("1"));
  await actAndWait("mysql-patch", [], "database_update");
  await actAndWait("mysql-delete", [], "database_delete");
  await check("databases mysql-view of what is gone exits with 1", () => gone(cli, "databases", "mysql-view", id));
}

const is = (expected: string) => (result: string) => (result === expected ? undefined : result);

async function create(cli: Cli, owner: Tenant, label: string, check: Check): Promise<string | undefined> {
  const made = await check(
    "databases mysql-create",
    () =>
      one(
        cli,
        "databases",
        "mysql-create",
        "--label",
        label,
        "--region",
        env("MOORAGE_REGION"),
        "--type",
        env("MOORAGE_TYPE"),
        "--engine",
        env("MOORAGE_ENGINE"),
        "--cluster_size",
        "1",
        "--ssl_connection",
        "true",
        "--allow_list",
        "192.0.2.1",
        "--allow_list",
        "198.51.100.0/24",
      ),
    differs({ label, status: "provisioning" }),
  );
  if (made === undefined) return undefined;
  const id = String(made["id"]);
  await owner.untilStatus(Number(id), "active", WAIT_SECONDS);
  const active = await check(
    "databases mysql-view of an active one",
    () => view(cli, id),
    differs({ status: "active" }),
  );
  return active === undefined ? undefined : id;
}

const view = (cli: Cli, id: string): Promise<Row> => one(cli, "databases", "mysql-view", id);

async function read(cli: Cli, id: string, label: string, check: Check): Promise<void> {
  await check("databases mysql-list", () => cli("databases", "mysql-list"), lacks("label", label));
  await check("databases list", () => cli("databases", "list"), lacks("label", label));
  await check(
    "databases mysql-list --label",
    () => one(cli, "databases", "mysql-list", "--label", label),
    differs({ id: Number(id) }),
  );
}

const eventsOf = (cli: Cli, id: string, action: string): Promise<Row[]> =>
  cli("events", "list", "--entity.type", "database", "--entity.id", id, "--action", action);

async function events(cli: Cli, id: string, check: Check): Promise<void> {
  const found = await check("events list --entity.id --action", () => eventsOf(cli, id, "database_create"));
  const event = String(found?.[0]?.["id"]);
  const shows = (name: string, fields: Row) => check(name, () => one(cli, "events", "view", event), differs(fields));
  await shows("events view", { status: "finished", seen: false });
  await check("events mark-read", () => cli("events", "mark-read", event));
  await shows("events view shows it read", { read: true });
  await check("events mark-seen", () => cli("events", "mark-seen", event));
  await shows("events view shows it seen", { seen: true });
}

type ActAndWait = ReturnType<typeof actAndWaitOn>;
/** A command, and the event of its end. */
const actAndWaitOn =
  (cli: Cli, owner: Tenant, id: string, check: Check) =>
  async (verb: string, args: readonly string[], action: Event["action"]): Promise<void> => {
    await check(`databases ${verb}, and its event`, async () => {
      const known = (await eventsOf(cli, id, action)).length;
      await cli("databases", verb, id, ...args);
      await owner.untilEnded(Number(id), action, WAIT_SECONDS);
      const [newest, ...older] = await eventsOf(cli, id, action);
      if (older.length !== known || newest?.["status"] === "failed") throw new Error(JSON.stringify(newest));
      if (verb !== "mysql-delete") await owner.untilStatus(Number(id), "active", WAIT_SECONDS);
    });
  };

async function runWithShownCredentials(cli: Cli, id: string, folder: string, statement: string): Promise<string> {
  const { hosts, port } = (await view(cli, id)) as { hosts: Row; port: number };
  const { username, password } = await one(cli, "databases", "mysql-creds-view", id);
  const { ca_certificate } = await one(cli, "databases", "mysql-ssl-cert", id);
  const credentials = { username: String(username), password: String(password), ca: String(ca_certificate) };
  return tenantSql(folder, { ...credentials, host: String(hosts["primary"]), port }, statement);
}

async function backups(
  cli: Cli,
  id: string,
  runStatement: (statement: string) => Promise<string>,
  actAndWait: ActAndWait,
  check: Check,
): Promise<void> {
  await check("a row before the snapshot", () => runStatement(KEPT_ROW));
  await actAndWait("mysql-backup-snapshot", ["--label", "day"], "database_backup_create");
  const made = await check(
    "databases mysql-backups-list",
    () => one(cli, "databases", "mysql-backups-list", id),
    differs({ label: "day", type: "snapshot" }),
  );
  const backup = String(made?.["id"]);
  await check(
    "databases mysql-backup-view",
    () => one(cli, "databases", "mysql-backup-view", id, backup),
    differs({ label: "day" }),
  );
  await check("a row after the snapshot", () => runStatement("INSERT INTO day.kept VALUES (2)"));
  await actAndWait("mysql-backup-restore", [backup], "database_backup_restore");
  await check(
    "the row of before is there, and no other",
    () => runStatement("SELECT GROUP_CONCAT(id) FROM day.kept"),
    is("1"),
  );
  await check("databases mysql-backup-delete", () => cli("databases", "mysql-backup-delete", id, backup));
}
