import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { node as nodeProgram, repo } from "../../tools/stack/paths.ts";
import { nodesOf } from "./records.ts";
import { env } from "./stack-env.ts";
import type { Tenant } from "./tenant.ts";

const run = promisify(execFile);

/** Everything a client needs to reach a database; stored, so that it can be used when the control plane is down. */
export type Reach = {
  host: number;
  namespace: string;
  address: string;
  port: number;
  username: string;
  password: string;
};

/**
 * From client A, whose address is on every allow list that `tenant` sends, through the firewall of the database's host.
 */
export async function reach(owner: Tenant, databaseId: number): Promise<Reach> {
  const [found] = await nodesOf(databaseId);
  if (found === undefined) throw new Error(`Database ${databaseId} has no node.`);
  const host = Number(found.host.replace("host-", ""));
  return {
    host,
    namespace: env("MOORAGE_CLIENT_A"),
    address: found.address,
    port: found.port,
    ...(await owner.credentials(databaseId)),
  };
}

const inNamespace = (at: Reach): string[] => [`--net=/run/netns/${at.namespace}`];

/** One statement with the real client, as the tenant's admin. Rows as lines, columns separated by tabs. */
export async function sql(at: Reach, statement: string): Promise<string> {
  const client = [
    env("MOORAGE_MYSQL"),
    "-N",
    "-B",
    "-h",
    at.address,
    "-P",
    String(at.port),
    "-u",
    at.username,
    "-e",
    statement,
  ];
  const { stdout } = await run("nsenter", [...inNamespace(at), ...client], {
    env: { ...process.env, MYSQL_PWD: at.password },
  });
  return stdout.trim();
}

export type Load = { statements: number; failed: number; seconds: number };

/** Writes and reads with one connection, for this long and until there were so many statements, and counts. */
export async function load(at: Reach, seconds: number, least = 0): Promise<Load> {
  const program = [nodeProgram, join(repo, "tests/kit/statement-load.ts"), JSON.stringify({ ...at, seconds, least })];
  const { stdout } = await run("nsenter", [...inNamespace(at), ...program], { timeout: (seconds + 600) * 1000 });
  return JSON.parse(stdout) as Load;
}
