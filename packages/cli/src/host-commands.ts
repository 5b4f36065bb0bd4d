import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import type { DeletionAllowance } from "@moorage/contract/agent";
import { signedText } from "@moorage/contract/agent";
import type { Command } from "commander";
import { Refused } from "./admin-client.ts";
import { positiveNumber, segment, wholeNumber } from "./arguments.ts";
import { adminClient, setting } from "./environment.ts";
import type { Output } from "./output.ts";

type Host = {
  id: number;
  name: string;
  region: string;
  state: string;
  silent_seconds: number | null;
  memory_mb: { total: number; reserved: number };
  disk_mb: { total: number; reserved: number; trash: number };
  clock_wrong: boolean;
  unknown: string[];
};

export function hostCommands(program: Command, output: Output): void {
  const host = program.command("host").description("the machines that databases run on");

  host
    .command("list")
    .description("every host: state, room, and what is strange on it")
    .action(async () => {
      const hosts = await adminClient().all<Host>("/admin/hosts");
      output.list(hosts, rowOf, "No host yet. Register one with: moorage host add --help");
    });

  host
    .command("add <name>")
    .description("register a host; prints the one-time token that its agent enrols with")
    .requiredOption("--region <id>", "where it stands: see moorage region list")
    .requiredOption("--failure-domain <name>", "hosts that fail together, such as a rack")
    .requiredOption("--address <ip>", "where its gates are reached")
    .option("--address6 <ip>", "the same, for clients that come by IPv6")
    .option("--private-address <ip>", "where its gates are reached from the private network, if there is one")
    .requiredOption("--node-network <cidr>", "a /20 for the nodes of this host alone")
    .requiredOption("--memory-mb <n>", "memory for databases", wholeNumber)
    .requiredOption("--disk-mb <n>", "disk for databases", wholeNumber)
    .requiredOption("--vcpus <n>", "processors", positiveNumber)
    .action(async (name: string, options: Record<string, string | number>) => {
      const reply = await adminClient().post<{ id: number; enrol_token?: string }>("/admin/hosts", {
        name,
        region: options["region"],
        failure_domain: options["failureDomain"],
        address: options["address"],
        address6: options["address6"],
        private_address: options["privateAddress"],
        node_network: options["nodeNetwork"],
        memory_mb: options["memoryMb"],
        disk_mb: options["diskMb"],
        vcpus: options["vcpus"],
      });
      output.printResult(
        reply,
        reply.enrol_token === undefined
          ? `Host ${name} (${reply.id}) is enrolled already.`
          : `Host ${name} (${reply.id}). Give this token to its agent within 24 hours; it works once:\n${reply.enrol_token}`,
      );
    });

  host
    .command("dead <name>")
    .description("say that a host never comes back: its nodes are replaced where others have their data")
    .action(async (name: string) => {
      const reply = await adminClient().post<{ name: string; nodes: number }>(`/admin/hosts/${segment(name)}/dead`, {});
      output.printResult(
        reply,
        `${reply.name} is dead. It held ${reply.nodes} nodes; those of databases of three are replaced.`,
      );
    });

  host
    .command("allow-deletions <name>")
    .description("let a host delete more databases than it does by itself; signed with your key, here")
    .requiredOption("--count <n>", "how many", wholeNumber)
    .option("--minutes <n>", "for how long", wholeNumber, 60)
    .action(async (name: string, options: { count: number; minutes: number }) => {
      const client = adminClient();
      const hosts = await client.all<Host>("/admin/hosts");
      const found = hosts.find((candidate) => candidate.name === name);
      if (found === undefined)
        throw new Refused(`No host is called ${name}. There are: ${hosts.map((each) => each.name).join(", ")}.`);
      const allowed = allowance(found.id, options, new Date());
      await client.post(`/admin/hosts/${found.id}/allowance`, allowed);
      output.printResult(allowed, `${name} may delete ${options.count} databases within ${options.minutes} minutes.`);
    });
}

/** Signed on the operator's machine: the control plane does not have the key. */
function allowance(host: number, { count, minutes }: { count: number; minutes: number }, now: Date): DeletionAllowance {
  const unsigned = {
    host,
    count,
    from: now.toISOString(),
    until: new Date(now.getTime() + minutes * 60_000).toISOString(),
  };
  const key = createPrivateKey(readFileSync(setting("MOORAGE_OPERATOR_KEY"), "utf8"));
  return { ...unsigned, signature: sign(null, Buffer.from(signedText(unsigned)), key).toString("base64") };
}

const rowOf = (host: Host) => ({
  id: host.id,
  name: host.name,
  region: host.region,
  state: host.state,
  seen: host.silent_seconds === null ? "never" : `${host.silent_seconds} s ago`,
  "memory MB": `${host.memory_mb.reserved} of ${host.memory_mb.total}`,
  "disk MB": `${host.disk_mb.reserved} of ${host.disk_mb.total}, trash ${host.disk_mb.trash}`,
  warnings: [...(host.clock_wrong ? ["clock is off"] : []), ...host.unknown].join(", "),
});
