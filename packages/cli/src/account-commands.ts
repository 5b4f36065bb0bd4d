import type { Command } from "commander";
import { amountsIn, texts } from "./accounts/texts.ts";
import { Refused } from "./admin-client.ts";
import { segment, wholeNumber } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";
import { texts as shared } from "./texts.ts";

type Amounts = { databases: number; nodes: number; memory_mb: number; disk_mb: number };
type Account = {
  id: number;
  company: string;
  email: string;
  capabilities: string[];
  limits: Amounts;
  used: Amounts;
  closed: string | null;
  data_until: string | null;
};
type WholeAccount = Account & {
  euuid: string;
  created: string;
  contact: Record<string, string>;
  billing_source: string;
  balance: number;
  balance_uninvoiced: number;
  invoiced_through: string;
  card: { type: string; last_four: string } | null;
  sees_availability: boolean;
  cancellation: { by: string; comments: string; invoice: number | null } | null;
};
type LimitOptions = { databases?: number; nodes?: number; memoryMb?: number; diskMb?: number };

const ACCOUNTS = "/admin/accounts";
const MANAGED_DATABASES = "Managed Databases";

export function accountCommands(program: Command, output: Output): void {
  const account = program.command("account").description("Manage accounts, their limits and their capabilities");

  account
    .command("create")
    .description("Create an account. Repeating the command with the same e-mail address changes company and limits.")
    .requiredOption("--company <name>", "name of the company")
    .requiredOption("--email <address>", "e-mail address of the owner, which identifies the account")
    .requiredOption("--databases <n>", "maximum number of databases", wholeNumber)
    .requiredOption("--nodes <n>", "maximum number of database nodes", wholeNumber)
    .requiredOption("--memory-mb <n>", "maximum memory of all nodes together, in MB", wholeNumber)
    .requiredOption("--disk-mb <n>", "maximum disk space of all nodes together, in MB", wholeNumber)
    .action(async ({ company, email, ...limits }: LimitOptions & { company: string; email: string }) => {
      const saved = await adminClient().post<Account>(ACCOUNTS, { company, email, limits: limitsOf(limits) });
      output.printResult(saved, texts.accountSaved({ id: saved.id, company, email }));
    });

  account
    .command("list")
    .description("List all accounts with their usage and limits")
    .action(async () => {
      const accounts = await adminClient().all<Account>(ACCOUNTS);
      output.list(accounts, rowOf, shared.noAccounts());
    });

  account
    .command("show <account>")
    .description("Show the contact, usage, limits, balance and cancellation of an account")
    .action(async (id: string) => {
      const found = await adminClient().get<WholeAccount>(`${ACCOUNTS}/${segment(id)}`);
      output.printResult(found, linesOf(found).join("\n"));
    });

  account
    .command("availability <account> <on|off>")
    .description("Show or hide from an account what each region offers")
    .action(async (id: string, setting: string) => {
      if (setting !== "on" && setting !== "off") throw new Refused(texts.availabilityInvalid());
      const path = `${ACCOUNTS}/${segment(id)}/availability`;
      const saved = await adminClient().post(path, { on: setting === "on" });
      const result = setting === "on" ? texts.availabilityVisible : texts.availabilityHidden;
      output.printResult(saved, result({ account: id }));
    });

  account
    .command("reopen <account>")
    .description("Reopen a cancelled account. Its databases stay suspended until they are resumed.")
    .action(async (id: string) => {
      const saved = await adminClient().post<Account>(`${ACCOUNTS}/${segment(id)}/reopen`, {});
      output.printResult(saved, texts.accountReopened({ account: id }));
    });

  account
    .command("set-limits <account>")
    .description("Change the named limits of an account. A limit below the current usage deletes nothing.")
    .option("--databases <n>", "maximum number of databases", wholeNumber)
    .option("--nodes <n>", "maximum number of database nodes", wholeNumber)
    .option("--memory-mb <n>", "maximum memory of all nodes together, in MB", wholeNumber)
    .option("--disk-mb <n>", "maximum disk space of all nodes together, in MB", wholeNumber)
    .action(async (id: string, options: LimitOptions) => {
      if (Object.keys(options).length === 0) throw new Refused(texts.limitMissing());
      const saved = await adminClient().post<Account>(`${ACCOUNTS}/${segment(id)}/limits`, limitsOf(options));
      output.printResult(saved, texts.limitsSaved({ account: id, limits: saved.limits }));
    });

  const setCapability = async (id: string, capability: string, granted: boolean): Promise<void> => {
    const path = `${ACCOUNTS}/${segment(id)}/capabilities`;
    const saved = await adminClient().post<Account>(path, { capability, granted });
    output.printResult(saved, texts.capabilitiesSaved({ account: id, capabilities: saved.capabilities }));
  };
  account
    .command("grant-capability <account> [capability]")
    .description(`Grant a capability to an account (default: "${MANAGED_DATABASES}")`)
    .action((id: string, capability = MANAGED_DATABASES) => setCapability(id, capability, true));
  account
    .command("revoke-capability <account> [capability]")
    .description(`Revoke a capability of an account (default: "${MANAGED_DATABASES}")`)
    .action((id: string, capability = MANAGED_DATABASES) => setCapability(id, capability, false));
}

const limitsOf = ({ databases, nodes, memoryMb, diskMb }: LimitOptions) => ({
  databases,
  nodes,
  memory_mb: memoryMb,
  disk_mb: diskMb,
});

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

function linesOf(account: WholeAccount): string[] {
  const { contact, card, cancellation, closed, data_until } = account;
  const address = ["address_1", "address_2", "zip", "city", "state", "country"].map((field) => contact[field] ?? "");
  const facts: [string, string][] = [
    ["account", `${account.id}, ${account.company} (${account.euuid}), since ${account.created}`],
    ["owner's e-mail", account.email],
    [
      "contact",
      [contact["first_name"], contact["last_name"], contact["email"], contact["phone"]].filter(Boolean).join(" "),
    ],
    ["address", address.filter(Boolean).join(", ")],
    ["tax id", contact["tax_id"] ?? ""],
    ["usage", amountsIn(account.used)],
    ["limits", amountsIn(account.limits)],
    ["capabilities", account.capabilities.join(", ")],
    ["availability shown", account.sees_availability ? "yes" : "no"],
    ["billing source", account.billing_source],
    ["balance", `${dollars(account.balance)}, and ${dollars(account.balance_uninvoiced)} not invoiced yet`],
    ["card", card === null ? "none" : `${card.type} ${card.last_four}`],
    ...(closed === null
      ? []
      : [
          ["closed", `${closed}, data ${data_until === null ? "deleted" : `kept until ${data_until}`}`] as [
            string,
            string,
          ],
        ]),
    ...(cancellation === null
      ? []
      : [["cancelled by", `${cancellation.by}: ${cancellation.comments || "no comment"}`] as [string, string]]),
  ];
  return facts.filter(([, text]) => text !== "").map(([name, text]) => `${`${name}:`.padEnd(20)}${text}`);
}

const rowOf = ({ id, company, email, used, limits, capabilities, closed }: Account) => ({
  id,
  company,
  email,
  databases: `${used.databases} of ${limits.databases}`,
  nodes: `${used.nodes} of ${limits.nodes}`,
  "memory MB": `${used.memory_mb} of ${limits.memory_mb}`,
  "disk MB": `${used.disk_mb} of ${limits.disk_mb}`,
  capabilities: capabilities.join(", "),
  closed,
});
