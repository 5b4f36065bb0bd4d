import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import type { DeletionAllowance } from "@moorage/contract/agent";
import { signedText } from "@moorage/contract/agent";
import type { Command } from "commander";
import { Refused } from "./admin-client.ts";
import { positiveNumber, segment, wholeNumber } from "./arguments.ts";
import { adminClient, setting } from "./environment.ts";
import type { Output } from "./output.ts";
import { texts } from "./texts.ts";

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
  const host = program.command("host").description("Manage the hosts, the machines that run database nodes");

  host
    .command("list")
    .description("List all hosts with their state, reserved capacity and warnings")
    .action(async () => {
      const hosts = await adminClient().all<Host>("/admin/hosts");
      output.list(hosts, rowOf, texts.noHosts());
    });

  host
    .command("add <name>")
    .description("Register a host and print its one-time enrolment token")
    .requiredOption("--region <id>", "region of the host; see moorage region list")
    .requiredOption("--failure-domain <name>", "group of hosts that fail together, such as a rack")
    .requiredOption("--address <ip>", "IPv4 address at which clients reach the databases of the host")
    .option("--address6 <ip>", "IPv6 address at which clients reach the databases of the host")
    .option("--private-address <ip>", "address of the host in the private network, if there is one")
    .requiredOption("--node-network <cidr>", "/20 network for the nodes of this host; no other host may use it")
    .requiredOption("--memory-mb <n>", "memory for databases, in MB", wholeNumber)
    .requiredOption("--disk-mb <n>", "disk space for databases, in MB", wholeNumber)
    .requiredOption("--vcpus <n>", "number of processors", positiveNumber)
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
          ? texts.hostEnrolled({ name, id: reply.id })
          : texts.hostRegistered({ name, id: reply.id, token: reply.enrol_token }),
      );
    });

  host
    .command("dead <name>")
    .description("Mark a host as permanently lost, so that its nodes of three-node databases are replaced")
    .action(async (name: string) => {
      const reply = await adminClient().post<{ name: string; nodes: number }>(`/admin/hosts/${segment(name)}/dead`, {});
      output.printResult(reply, texts.hostDead(reply));
    });

  host
    .command("allow-deletions <name>")
    .description("Allow a host to exceed its limit of deletions; signed locally with the operator's key")
    .requiredOption("--count <n>", "number of databases that the host may delete", wholeNumber)
    .option("--minutes <n>", "duration of the permission in minutes", wholeNumber, 60)
    .action(async (name: string, options: { count: number; minutes: number }) => {
      const client = adminClient();
      const hosts = await client.all<Host>("/admin/hosts");
      const found = hosts.find((candidate) => candidate.name === name);
      if (found === undefined) throw new Refused(texts.hostUnknown({ name, known: hosts.map((each) => each.name) }));
      const allowed = allowance(found.id, options, new Date());
      await client.post(`/admin/hosts/${found.id}/allowance`, allowed);
      output.printResult(allowed, texts.deletionsAllowed({ name, ...options }));
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
  "last seen": host.silent_seconds === null ? "never" : `${host.silent_seconds} s ago`,
  "memory MB": `${host.memory_mb.reserved} of ${host.memory_mb.total}`,
  "disk MB": `${host.disk_mb.reserved} of ${host.disk_mb.total}, trash ${host.disk_mb.trash}`,
  warnings: [...(host.clock_wrong ? ["clock is off"] : []), ...host.unknown].join(", "),
});
