import type { Client } from "@moorage/client";
import {
  listMysqlDatabases,
  type MysqlDatabase,
  viewMysqlCredentials,
  viewMysqlDatabase,
  viewMysqlSsl,
} from "@moorage/contract";
import { Command } from "commander";
import { Refused } from "../admin-client.ts";
import { idOf } from "../tenant/named-object.ts";
import type { TenantDeps } from "../tenant/operation-command.ts";
import { openMysql, type Reached } from "./open-mysql.ts";

export const connectCommand = ({ terminal, client }: TenantDeps, endWith: (code: number) => void): Command =>
  new Command("connect")
    .description("open mysql on a database, with its name, port, user, password and authority")
    .argument("<instance>", "its label or id")
    .argument("[arguments...]", "for mysql, after --, such as -- -e 'SELECT 1'")
    .option("--mysql <command>", "the client; without it MOORAGE_MYSQL, or mysql")
    .option("--read-only", "reach the secondaries of a database of three nodes")
    .option("--private", "by its name on the private network")
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
    throw new Refused(
      how.readOnly === true
        ? `${database.label} has one node, and no secondaries to read from.`
        : `${database.label} is ${database.status} and has no address yet. See how it goes: moorage db show ${database.id}`,
    );
  const { username, password } = await client.call(viewMysqlCredentials, { params });
  const { ca_certificate } = await client.call(viewMysqlSsl, { params });
  const ca = ca_certificate === null ? null : Buffer.from(ca_certificate, "base64").toString();
  return { host, port, username, password, ca };
}

/** States in which no server accepts connections, with what to do about each. */
const silent: Partial<Record<MysqlDatabase["status"], string>> = {
  provisioning: "See how it goes: moorage db show",
  suspending: "See how it goes: moorage db show",
  suspended: "Start it: moorage db resume --wait",
  resuming: "See how it goes: moorage db show",
  failed: "See what it is: moorage db show",
};

function requireReachable({ id, label, status, allow_list }: MysqlDatabase): void {
  const way = silent[status];
  if (way !== undefined) throw new Refused(`${label} is ${status}, and nobody can connect to it. ${way} ${label}`);
  if (allow_list.length === 0)
    throw new Refused(
      `Nobody may reach ${label}: its allow list is empty. Let your address in: moorage db update ${id} --allow-list <address> --wait`,
    );
}
