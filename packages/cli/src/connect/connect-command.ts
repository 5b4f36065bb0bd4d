import type { Client } from "@moorage/client";
import {
  listMysqlDatabases,
  type MysqlDatabase,
  viewMysqlCredentials,
  viewMysqlDatabase,
  viewMysqlSsl,
} from "@moorage/contract";
import { Command } from "commander";
import { Refused } from "../refused.ts";
import { idOf } from "../tenant/named-object.ts";
import type { TenantDeps } from "../tenant/operation-command.ts";
import { openMysql, type Reached } from "./open-mysql.ts";
import { texts } from "./texts.ts";

export const connectCommand = ({ terminal, client }: TenantDeps, endWith: (code: number) => void): Command =>
  new Command("connect")
    .description("Connect to a database with the mysql client and verify the server's certificate")
    .argument("<instance>", "label or id")
    .argument("[arguments...]", "arguments of mysql after --, such as -- -e 'SELECT 1'")
    .option("--mysql <command>", "command of the client (default: MOORAGE_MYSQL, or mysql)")
    .option("--read-only", "connect to the replicas of a three-node database")
    .option("--private", "connect to the hostname in the private network")
    .action(async (labelOrId: string, more: string[], options: { mysql?: string; readOnly?: true; private?: true }) => {
      const command = options.mysql ?? terminal.env["MOORAGE_MYSQL"] ?? "mysql";
      const reached = await find(await client(), labelOrId, options);
      endWith(await openMysql(command, reached, more, terminal.env));
    });

async function find(client: Client, labelOrId: string, how: { readOnly?: true; private?: true }): Promise<Reached> {
  const instanceId = Number(await idOf(client, listMysqlDatabases, labelOrId, { listCommand: "moorage db list" }));
  const params = { instanceId };
  const database = await client.call(viewMysqlDatabase, { params });
  const host = how.private === true ? database.hosts.secondary : database.hosts.primary;
  const port = how.readOnly === true ? database.read_only_port : database.port;
  requireReachable(database);
  if (host === null || port === null)
    throw new Refused(how.readOnly === true ? texts.noReplicas(database) : texts.noHostname(database));
  const { username, password } = await client.call(viewMysqlCredentials, { params });
  const { ca_certificate } = await client.call(viewMysqlSsl, { params });
  const ca = ca_certificate === null ? null : Buffer.from(ca_certificate, "base64").toString();
  return { host, port, username, password, ca };
}

/** States in which no server accepts connections. */
const notRunning: readonly MysqlDatabase["status"][] = ["provisioning", "suspending", "resuming", "failed"];

function requireReachable({ label, status, allow_list }: MysqlDatabase): void {
  if (status === "suspended") throw new Refused(texts.suspended({ label }));
  if (notRunning.includes(status)) throw new Refused(texts.notRunning({ label, status }));
  if (allow_list.length === 0) throw new Refused(texts.allowListEmpty({ label }));
}
