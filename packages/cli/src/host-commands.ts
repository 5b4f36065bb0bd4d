import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import type { DeletionAllowance } from "@moorage/contract/agent";
import { signedText } from "@moorage/contract/agent";
import type { Command } from "commander";
import { Refused } from "./admin-client.ts";
import { adminClient, setting } from "./environment.ts";

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

export function hostCommands(program: Command): void {
  const host = program.command("host").description("the machines that databases run on");

  host
    .command("list")
    .description("every host: state, room, and what is strange on it")
    .action(async () => {
      const { data } = await adminClient().get<{ data: Host[] }>("/admin/hosts");
      console.table(data.map(rowOf));
    });

  host
    .command("add <name>")
    .description("register a host; prints the one-time token that its agent enrols with")
    .requiredOption("--region <id>")
    .requiredOption("--failure-domain <name>", "hosts that fail together, such as a rack")
    .requiredOption("--address <ip>")
    .requiredOption("--node-network <cidr>", "a /20 for the nodes of this host alone")
    .requiredOption("--memory-mb <n>", "memory for databases", Number)
    .requiredOption("--disk-mb <n>", "disk for databases", Number)
    .requiredOption("--vcpus <n>", "processors", Number)
    .action(async (name: string, options: Record<string, string | number>) => {
      const reply = await adminClient().post<{ id: number; enrol_token?: string }>("/admin/hosts", {
        name,
        region: options["region"],
        failure_domain: options["failureDomain"],
        address: options["address"],
        node_network: options["nodeNetwork"],
        memory_mb: options["memoryMb"],
        disk_mb: options["diskMb"],
        vcpus: options["vcpus"],
      });
      if (reply.enrol_token === undefined) console.log(`Host ${name} (${reply.id}) is enrolled already.`);
      else
        console.log(
          `Host ${name} (${reply.id}). Give this token to its agent within 24 hours; it works once:\n${reply.enrol_token}`,
        );
    });

  host
    .command("allow-deletions <name>")
    .description("let a host delete more databases than it does by itself; signed with your key, here")
    .requiredOption("--count <n>", "how many", Number)
    .option("--minutes <n>", "for how long", Number, 60)
    .action(async (name: string, options: { count: number; minutes: number }) => {
      const client = adminClient();
      const { data } = await client.get<{ data: Host[] }>("/admin/hosts");
      const found = data.find((candidate) => candidate.name === name);
      if (found === undefined)
        throw new Refused(`No host is called ${name}. There are: ${data.map((each) => each.name).join(", ")}.`);
      await client.post(`/admin/hosts/${found.id}/allowance`, allowance(found.id, options, new Date()));
      console.log(`${name} may delete ${options.count} databases within ${options.minutes} minutes.`);
    });
}

/** Signed where the operator is: the control plane does not hold the key. */
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
  strange: [...(host.clock_wrong ? ["clock is off"] : []), ...host.unknown].join(", "),
});
