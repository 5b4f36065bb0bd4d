import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { inParts } from "../../tools/stack/paths.ts";
import { env } from "../kit/stack-env.ts";
import type { Checks } from "./checks.ts";
import type { ClientTarget } from "./client-cells.ts";
import { clientThings } from "./client-things.ts";
import { accountOf } from "./fuzz-account.ts";
import { account } from "./linode-cli-account.ts";
import { database } from "./linode-cli-database.ts";
import { identity } from "./linode-cli-identity.ts";
import { images, type Machines } from "./linode-cli-images.ts";
import { type Cli, lacks, type PlainCli, type Row } from "./linode-cli-rows.ts";

/** The published program, with only its documented settings. A command that does not exit with 0 throws. */
function linodeCli(folder: string, token: string, url: string): Cli {
  const runCli = plainCli(folder, token, url);
  return async (...args) => {
    const stdout = await runCli(...args, "--json", "--all-columns", "--suppress-warnings");
    return stdout.trim() === "" ? [] : (JSON.parse(stdout) as Row[]);
  };
}

/** Interactive use: accepts the default for every question. */
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

export async function withLinodeCli({ url, broken }: ClientTarget, { check }: Checks): Promise<void> {
  await using things = await clientThings("cli");
  const { folder } = things;
  const by = (token: string) => linodeCli(folder, token, url);
  const cli = by(things.account.token);
  const main = by(env("MOORAGE_TOKEN"));
  const passing = await accountOf(`${things.label}-p`);
  // Its stored settings would be the defaults of the other commands.
  const plain = plainCli(await mkdtemp(join(folder, "plain-")), env("MOORAGE_TOKEN"), url);
  // Each command starts Python again: independent ones run in parallel.
  await Promise.all([
    catalogue(cli, check).then(() => identity(cli, things, broken, check)),
    account(by(passing.token), main, passing, check),
    images({ cli: main, plain, other: by(things.otherToken) }, machinesIn(folder), check),
    database(cli, things, check),
  ]);
}

type Check = Checks["check"];

const machinesIn = (folder: string): Machines => ({
  folder,
  region: env("MOORAGE_REGION"),
  compute: env("MOORAGE_COMPUTE"),
  disk: env("MOORAGE_DISK"),
  swap: env("MOORAGE_SWAP_DISK"),
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
  await check("linodes type-view", () => cli("linodes", "type-view", type), lacks("id", type));
  await check("regions list", () => cli("regions", "list"), lacks("id", region));
  await check("regions view", () => cli("regions", "view", region), lacks("id", region));
}
