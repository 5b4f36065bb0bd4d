import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { node as nodeProgram, repo } from "../../tools/stack/places.ts";
import { nodesOf } from "./records.ts";
import { env } from "./stack-env.ts";
import type { Tenant } from "./tenant.ts";

const run = promisify(execFile);

/** Everything a client needs to reach a node, kept, so that it can be used when the control plane is gone. */
export type Reach = { host: number; namespace: string; address: string; username: string; password: string };

/** A node's own port is reachable from its host alone: the client runs in the host's namespace. */
export async function reach(owner: Tenant, databaseId: number): Promise<Reach> {
  const [found] = await nodesOf(databaseId);
  if (found === undefined) throw new Error(`Database ${databaseId} has no node.`);
  const host = Number(found.host.replace("host-", ""));
  return {
    host,
    namespace: `moor-host-${host}`,
    address: found.wanted.network.address,
    ...(await owner.credentials(databaseId)),
  };
}

const inNamespace = (at: Reach): string[] => [`--net=/run/netns/${at.namespace}`];

/** One statement by the real client, as the tenant's admin. Rows as lines, columns by tabs. */
export async function sql(at: Reach, statement: string): Promise<string> {
  const client = [env("MOORAGE_MYSQL"), "-N", "-B", "-h", at.address, "-P", "3306", "-u", at.username, "-e", statement];
  const { stdout } = await run("nsenter", [...inNamespace(at), ...client], {
    env: { ...process.env, MYSQL_PWD: at.password },
  });
  return stdout.trim();
}

export type Load = { statements: number; failed: number; seconds: number };

/** Writes and reads by one connection for so long, and counts. */
export async function load(at: Reach, seconds: number): Promise<Load> {
  const program = [nodeProgram, join(repo, "tests/kit/statement-load.ts"), JSON.stringify({ ...at, seconds })];
  const { stdout } = await run("nsenter", [...inNamespace(at), ...program], { timeout: (seconds + 60) * 1000 });
  return JSON.parse(stdout) as Load;
}
