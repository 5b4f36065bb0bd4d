import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { type DeletionAllowance, signedText } from "@moorage/contract/agent";
import * as contract from "@moorage/contract/operator";
import type { Text } from "@moorage/contract/texts";
import { Command } from "commander";
import { Refused } from "../refused.ts";
import { wholeNumber } from "../tenant/body-field.ts";
import { texts } from "../texts.ts";
import { settingOf } from "./admin-client.ts";
import { type AdminCommand, type AdminDeps, define } from "./admin-command.ts";

export const hostCommands: readonly AdminCommand[] = [
  define({
    words: "host list",
    operation: contract.listHosts,
    list: (host) => ({
      id: host.id,
      name: host.name,
      region: host.region,
      state: host.state,
      "last seen": host.silent_seconds === null ? "never" : `${host.silent_seconds} s ago`,
      "memory MB": `${host.memory_mb.reserved} of ${host.memory_mb.total}`,
      "disk MB": `${host.disk_mb.reserved} of ${host.disk_mb.total}, trash ${host.disk_mb.trash}`,
      warnings: [
        ...(host.quarantined ? ["quarantined: it claimed a state that it was not sent"] : []),
        ...(host.compared || host.quarantined ? [] : ["not compared with PostgreSQL since its start"]),
        ...(host.revoked ? ["revoked: to be enrolled again"] : []),
        ...(host.shared_by.length > 0
          ? [texts.certificateShared({ name: host.name, addresses: host.shared_by }).text]
          : []),
        ...(host.clock_wrong ? ["clock is off"] : []),
        ...(host.held.length === 0 ? [] : [texts.deletionsHeld({ name: host.name, held: host.held.length }).text]),
        ...host.unknown,
      ].join(", "),
    }),
    empty: texts.noHosts(),
  }),
  define({
    words: "host add",
    operation: contract.addHost,
    arguments: ["name"],
    print: ({ id, enrol_token: token }, { name = "" }) =>
      token === undefined ? texts.hostEnrolled({ name, id }) : texts.hostRegistered({ name, id, token }),
  }),
  define({ words: "host revoke", operation: contract.revokeHost, print: ({ name }) => texts.hostRevoked({ name }) }),
  define({
    words: "host enrol-again",
    operation: contract.enrolHostAgain,
    print: ({ name, enrol_token: token }) => texts.hostToEnrolAgain({ name, token }),
  }),
  define({ words: "host dead", operation: contract.declareHostDead, print: (reply) => texts.hostDead(reply) }),
  define({
    words: "recover",
    operation: contract.recover,
    options: { wait_seconds: "wait" },
    print: (found) =>
      [
        (found.plan ? texts.recoveryPlanned(found) : texts.recovered(found)).text,
        ...part(texts.recoveredAdopted(), found.adopted),
        ...part(texts.recoveredDeleted(), found.deleted),
        ...part(texts.recoveredMissing(), found.missing),
        ...part(texts.recoveredOrphans(), found.orphans),
        ...part(texts.recoveredRefused(), found.refused),
      ].join("\n"),
  }),
];

const part = (heading: Text, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [heading.text, ...lines.map((line) => `  ${line}`)];

/** Finds the host by its name, and signs the permission. */
export const allowDeletionsCommand = ({ client, output, env }: AdminDeps): Command =>
  new Command("allow-deletions")
    .description(`${contract.allowDeletions.summary}; signed locally with the operator's key`)
    .argument("<name>")
    .requiredOption(
      "--count <n>",
      "number of nodes, timelines and re-cloned members whose data the host may delete",
      wholeNumber,
    )
    .option("--minutes <n>", "duration of the permission in minutes", wholeNumber, 60)
    .action(async (name: string, options: { count: number; minutes: number }) => {
      const { data: hosts } = await client().call(contract.listHosts);
      const found = hosts.find((candidate) => candidate.name === name);
      if (found === undefined) throw new Refused(texts.hostUnknown({ name, known: hosts.map((each) => each.name) }));
      const key = readFileSync(settingOf(env, "MOORAGE_OPERATOR_KEY"), "utf8");
      const body = allowance(found.id, options, key, new Date());
      await client().call(contract.allowDeletions, { params: { hostId: found.id }, body });
      output.printResult(body, texts.deletionsAllowed({ name, ...options }));
    });

/** Signed on the operator's machine: the control plane does not have the key. */
function allowance(
  host: number,
  { count, minutes }: { count: number; minutes: number },
  key: string,
  now: Date,
): DeletionAllowance {
  const until = new Date(now.getTime() + minutes * 60_000);
  const unsigned = { host, count, from: now.toISOString(), until: until.toISOString() };
  const signature = sign(null, Buffer.from(signedText(unsigned)), createPrivateKey(key));
  return { ...unsigned, signature: signature.toString("base64") };
}
