import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inParts } from "../../tools/stack/places.ts";
import { env } from "../kit/stack-env.ts";
import { until } from "../kit/until.ts";
import { type Checks, leaveOut } from "./checks.ts";
import { accountOf } from "./fuzz-account.ts";
import { account } from "./linode-cli-account.ts";
import { identity } from "./linode-cli-identity.ts";
import { images, type Machines } from "./linode-cli-images.ts";
import { type Cli, lacks, oneOf, type PlainCli, type Row } from "./linode-cli-rows.ts";

const WAIT_SECONDS = 180;

/** The published program, with nothing but its documented settings. A verb that does not exit with 0 throws. */
function linodeCli(folder: string, token = env("MOORAGE_TOKEN")): Cli {
  const said = plainCli(folder, token);
  return async (...args) => {
    const stdout = await said(...args, "--json", "--all-columns", "--suppress-warnings");
    return stdout.trim() === "" ? [] : (JSON.parse(stdout) as Row[]);
  };
}

/** As people see it, of whom each takes every default that they are asked for. */
export function plainCli(folder: string, token = env("MOORAGE_TOKEN"), url = env("MOORAGE_URL")): PlainCli {
  const { host, protocol } = new URL(url);
  const settings = {
    PATH: process.env["PATH"],
    HOME: folder,
    LINODE_CLI_CONFIG: join(folder, "config"),
    LINODE_CLI_TOKEN: token,
    LINODE_CLI_API_HOST: host,
    LINODE_CLI_API_SCHEME: protocol.replace(":", ""),
    LINODE_CLI_API_VERSION: "v4",
  };
  return async (...args) => {
    const running = promisify(execFile)(inParts("bin", "linode-cli"), args, { env: settings });
    running.child.stdin?.end("\n".repeat(20));
    return (await running).stdout;
  };
}

export async function withLinodeCli({ check }: Checks): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "moorage-linode-cli-"));
  try {
    const cli = linodeCli(folder);
    await catalogue(cli, check);
    await identity(cli, check);
    const passing = await accountOf(`cli-${Date.now().toString(36)}`);
    await account(linodeCli(folder, passing.token), cli, passing, check);
    // What it keeps would be the other verbs' defaults.
    const plain = plainCli(await mkdtemp(join(folder, "plain-")));
    await images({ cli, plain, other: linodeCli(folder, env("MOORAGE_OTHER_TOKEN")) }, machinesIn(folder), check);
    const database = await create(cli, check);
    if (database === undefined) return;
    await events(cli, check, database);
    await remove(cli, check, database);
  } finally {
    await rm(folder, { recursive: true });
  }
}

type Check = Checks["check"];

const machinesIn = (folder: string): Machines => ({
  ...{ folder, region: env("MOORAGE_REGION"), compute: env("MOORAGE_COMPUTE") },
  ...{ disk: env("MOORAGE_DISK"), swap: env("MOORAGE_SWAP_DISK") },
});

async function catalogue(cli: Cli, check: Check): Promise<void> {
  const [engine, type, region] = [env("MOORAGE_ENGINE"), env("MOORAGE_TYPE"), env("MOORAGE_REGION")];
  await check("databases engines", () => cli("databases", "engines"), lacks("id", engine));
  await check(
    "databases engine-view (an id with a slash)",
    () => cli("databases", "engine-view", engine),
    lacks("id", engine),
  );
  await check("databases types", () => cli("databases", "types"), lacks("id", type));
  await check("databases type-view", () => cli("databases", "type-view", type), lacks("id", type));
  await check(
    "linodes types (the alias /linode/types)",
    () => cli("linodes", "types"),
    (rows) => (rows.length > 0 ? undefined : "none"),
  );
  await check("regions list", () => cli("regions", "list"), lacks("id", region));
  await check("regions view", () => cli("regions", "view", region), lacks("id", region));
}

type Created = { id: string; label: string };

async function create(cli: Cli, check: Check): Promise<Created | undefined> {
  const label = `cli-${Date.now().toString(36)}`;
  const made = await check(
    "databases mysql-create",
    async () =>
      oneOf(
        await cli(
          ...["databases", "mysql-create", "--label", label, "--region", env("MOORAGE_REGION")],
          ...["--type", env("MOORAGE_TYPE"), "--engine", env("MOORAGE_ENGINE"), "--cluster_size", "1"],
          ...["--ssl_connection", "true", "--allow_list", "192.0.2.1", "--allow_list", "198.51.100.0/24"],
        ),
      ),
    (row) => (row["label"] === label && row["status"] === "provisioning" ? undefined : JSON.stringify(row)),
  );
  if (made === undefined) return undefined;
  const id = String(made["id"]);
  leaveOut("a waiter of its own", "linode-cli has none for databases; the wait below asks mysql-view again");
  const active = await check("databases mysql-view until active", () =>
    until(`database ${id} is active`, WAIT_SECONDS, async () => {
      const row = oneOf(await cli("databases", "mysql-view", id));
      return row["status"] === "active" && row;
    }),
  );
  if (active === undefined) return undefined;
  await check("databases mysql-list", () => cli("databases", "mysql-list"), lacks("label", label));
  await check("databases list", () => cli("databases", "list"), lacks("label", label));
  await check(
    "databases mysql-list --label",
    () => cli("databases", "mysql-list", "--label", label),
    (rows) => (rows.length === 1 ? undefined : `${rows.length} rows for one label`),
  );
  await check(
    "databases mysql-creds-view",
    async () => oneOf(await cli("databases", "mysql-creds-view", id)),
    ({ password }) =>
      typeof password === "string" && password.length >= 16 ? undefined : "no password of 16 characters",
  );
  return { id, label };
}

const eventsOf = (cli: Cli, { id }: Created, action: string): Promise<Row[]> =>
  cli("events", "list", "--entity.type", "database", "--entity.id", id, "--action", action);

async function events(cli: Cli, check: Check, database: Created): Promise<void> {
  const found = await check("events list --entity.id --action", async () =>
    oneOf(await eventsOf(cli, database, "database_create")),
  );
  if (found === undefined) return;
  const event = String(found["id"]);
  const shows = (field: string) => async () => {
    const row = oneOf(await cli("events", "view", event));
    if (row[field] !== true) throw new Error(`${field} is ${String(row[field])}`);
  };
  await check(
    "events view",
    async () => oneOf(await cli("events", "view", event)),
    (row) => (row["status"] === "finished" && row["seen"] === false ? undefined : JSON.stringify(row)),
  );
  await check("events mark-read", () => cli("events", "mark-read", event));
  await check("events view shows it read", shows("read"));
  await check("events mark-seen", () => cli("events", "mark-seen", event));
  await check("events view shows it seen", shows("seen"));
}

async function remove(cli: Cli, check: Check, database: Created): Promise<void> {
  await check("databases mysql-delete", () => cli("databases", "mysql-delete", database.id));
  await check("events list until the deletion has finished", () =>
    until("the deletion has finished", WAIT_SECONDS, async () => {
      const [event] = await eventsOf(cli, database, "database_delete");
      return event?.["status"] === "finished";
    }),
  );
  await check("databases mysql-view of what is gone exits with 1", async () => {
    const code = await cli("databases", "mysql-view", database.id).then(
      () => 0,
      (error: { code?: number }) => error.code,
    );
    if (code !== 1) throw new Error(`exit code ${code}`);
  });
}
