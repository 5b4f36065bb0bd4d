import { until } from "@moorage/testkit/until.ts";
import { env } from "../kit/stack-env.ts";
import { type Check, calls, refusedWith, unless } from "./api-v4-calls.ts";
import { type ClientThings, tenantSql, KEPT_ROW } from "./client-things.ts";

const {
  createDatabase,
  deleteDatabase,
  getDatabaseBackup,
  getDatabaseBackups,
  getDatabaseCredentials,
  getDatabases,
  getEngineDatabase,
  getEngineDatabases,
  getEvent,
  getEvents,
  getSSLFields,
  legacyRestoreWithBackup,
  markEventRead,
  markEventSeen,
  patchDatabase,
  resetDatabaseCredentials,
  resumeDatabase,
  suspendDatabase,
  updateDatabase,
} = calls;

const WAIT_SECONDS = 900;
const MYSQL = "mysql";

type Database = { id: number; status: string };
type Event = { id: number; status: string; message: string | null; seen: boolean };

export async function database(things: ClientThings, check: Check): Promise<void> {
  const id = await create(things.label, check);
  if (id === undefined) return;
  await read(id, things.label, check);
  await events(id, check);
  const actAndWait = actAndWaitOn(id, check);
  const address = env("MOORAGE_CLIENT_A_ADDR");
  await actAndWait("updateDatabase of the allow list", "database_update", () =>
    updateDatabase(MYSQL, id, { allow_list: [address] }),
  );
  const runStatement = async (statement: string): Promise<string> => {
    const { hosts, port } = await getEngineDatabase(MYSQL, id);
    const { username, password } = await getDatabaseCredentials(MYSQL, id);
    const { ca_certificate } = await getSSLFields(MYSQL, id);
    const at = { host: hosts.primary, port, username, password: password ?? "", ca: ca_certificate ?? "" };
    return tenantSql(things.folder, at, statement);
  };
  await check(
    "getDatabaseCredentials and getSSLFields, and mysql with them",
    () => runStatement("SELECT 1"),
    unless((result) => result === "1"),
  );
  await backups(id, things, runStatement, actAndWait, check);
  await actAndWait("resetDatabaseCredentials", "database_credentials_reset", () => resetDatabaseCredentials(MYSQL, id));
  await check("mysql with the new password", () => runStatement("SELECT 1"));
  await actAndWait("patchDatabase", "database_update", () => patchDatabase(MYSQL, id));
  await actAndWait("suspendDatabase", "database_update", () => suspendDatabase(MYSQL, id), "suspended");
  await actAndWait("resumeDatabase", "database_update", () => resumeDatabase(MYSQL, id));
  await actAndWait("deleteDatabase", "database_delete", () => deleteDatabase(MYSQL, id), undefined);
  await check(
    "getEngineDatabase of what is gone is 404",
    refusedWith(404, () => getEngineDatabase(MYSQL, id)),
  );
}

async function create(label: string, check: Check): Promise<number | undefined> {
  const newDatabase = {
    label,
    region: env("MOORAGE_REGION"),
    type: env("MOORAGE_TYPE"),
    cluster_size: 1,
    engine: env("MOORAGE_ENGINE"),
    allow_list: ["192.0.2.1/32"],
  };
  const made = await check(
    "createDatabase",
    () => createDatabase(MYSQL, newDatabase),
    unless(({ status }) => status === "provisioning"),
  );
  if (made === undefined) return undefined;
  const active = await check("getEngineDatabase until active", () => untilStatus(made.id, "active"));
  return active?.id;
}

/** The package has no waiter: the vendor's web manager polls. */
const untilStatus = (id: number, status: Database["status"]): Promise<Database> =>
  until(`database ${id} is ${status}`, WAIT_SECONDS, async () => {
    const found = await getEngineDatabase(MYSQL, id);
    return found.status === status && found;
  });

const eventsOf = async (id: number, action: string): Promise<Event[]> => {
  const filter = { "entity.id": id, "entity.type": "database", action, "+order_by": "id", "+order": "desc" };
  return (await getEvents({}, filter)).data;
};

type ActAndWait = ReturnType<typeof actAndWaitOn>;
/** Performs an action and waits for the event of its end, as the web manager's polling does. */
const actAndWaitOn =
  (id: number, check: Check) =>
  async (
    name: string,
    action: string,
    act: () => Promise<unknown>,
    after: Database["status"] | undefined = "active",
  ): Promise<void> => {
    await check(`${name}, and its event`, async () => {
      const known = (await eventsOf(id, action))[0]?.id ?? 0;
      await act();
      await until(`${action} of ${id} has ended`, WAIT_SECONDS, async () => {
        const [newest] = await eventsOf(id, action);
        if (newest?.status === "failed") throw new Error(newest.message ?? "failed");
        return newest !== undefined && newest.id > known && newest.status !== "started";
      });
      if (name !== "deleteDatabase" && after !== undefined) await untilStatus(id, after);
    });
  };

async function read(id: number, label: string, check: Check): Promise<void> {
  const isThat = unless(({ data }: { data: { id: number }[] }) => data.length === 1 && data[0]?.id === id);
  await check("getEngineDatabases by label", () => getEngineDatabases(MYSQL, {}, { label }), isThat);
  await check("getDatabases by label", () => getDatabases({}, { label }), isThat);
}

async function events(id: number, check: Check): Promise<void> {
  const found = await check(
    "getEvents of this database",
    () => eventsOf(id, "database_create"),
    unless((all) => all.length === 1 && all[0]?.status === "finished" && !all[0].seen),
  );
  const event = found?.[0]?.id;
  if (event === undefined) return;
  await check("markEventRead", () => markEventRead(event));
  await check("markEventSeen", () => markEventSeen(event));
  await check(
    "getEvent shows it read and seen",
    () => getEvent(event),
    unless((seen) => seen.read && seen.seen),
  );
}

async function backups(
  id: number,
  { account: { owner } }: ClientThings,
  runStatement: (statement: string) => Promise<string>,
  actAndWait: ActAndWait,
  check: Check,
): Promise<void> {
  await check("a row before the snapshot", () => runStatement(KEPT_ROW));
  // This version cannot request one.
  await owner.actAndWait(id, "backups", "database_backup_create", { label: "day" });
  const found = await check(
    "getDatabaseBackups",
    () => getDatabaseBackups(MYSQL, id),
    unless(({ data }) => data.length === 1 && data[0]?.label === "day"),
  );
  const backup = found?.data[0]?.id;
  if (backup === undefined) return;
  await check(
    "getDatabaseBackup",
    () => getDatabaseBackup(MYSQL, id, backup),
    unless(({ type }) => type === "snapshot"),
  );
  await check("a row after the snapshot", () => runStatement("INSERT INTO day.kept VALUES (2)"));
  await actAndWait("legacyRestoreWithBackup", "database_backup_restore", () =>
    legacyRestoreWithBackup(MYSQL, id, backup),
  );
  await check(
    "the row of before is there, and no other",
    () => runStatement("SELECT GROUP_CONCAT(id) FROM day.kept"),
    unless((result) => result === "1"),
  );
}
