import type { Command } from "commander";
import { Refused } from "./admin-client.ts";
import { segment, wholeNumber } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

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
  const account = program.command("account").description("customers, and what each may have");

  account
    .command("create")
    .description("make an account; said again for the same e-mail address, it changes company and limits")
    .requiredOption("--company <name>")
    .requiredOption("--email <address>", "the owner's; accounts are found again by it")
    .requiredOption("--databases <n>", "how many databases it may have", wholeNumber)
    .requiredOption("--nodes <n>", "how many database nodes", wholeNumber)
    .requiredOption("--memory-mb <n>", "how much memory in all", wholeNumber)
    .requiredOption("--disk-mb <n>", "how much disk in all", wholeNumber)
    .action(async ({ company, email, ...limits }: LimitOptions & { company: string; email: string }) => {
      const saved = await adminClient().post<Account>(ACCOUNTS, { company, email, limits: limitsOf(limits) });
      output.printResult(
        saved,
        `Account ${saved.id}, ${company}. Next, a user: moorage user create ${saved.id} <username> --email ${email}`,
      );
    });

  account
    .command("list")
    .description("every account: what it has, of what it may have")
    .action(async () => {
      const accounts = await adminClient().all<Account>(ACCOUNTS);
      output.list(accounts, rowOf, "No account yet. Make one with: moorage account create --help");
    });

  account
    .command("show <account>")
    .description("one account: who it is, what it has, what it owes, and how it was cancelled")
    .action(async (id: string) => {
      const found = await adminClient().get<WholeAccount>(`${ACCOUNTS}/${segment(id)}`);
      output.printResult(found, linesOf(found).join("\n"));
    });

  account
    .command("availability <account> <on|off>")
    .description("let an account see what each region has, or not")
    .action(async (id: string, setting: string) => {
      if (setting !== "on" && setting !== "off") throw new Refused("Say on or off.");
      const path = `${ACCOUNTS}/${segment(id)}/availability`;
      const saved = await adminClient().post(path, { on: setting === "on" });
      output.printResult(saved, `Account ${id} ${setting === "on" ? "sees" : "does not see"} what each region has.`);
    });

  account
    .command("reopen <account>")
    .description("open a cancelled account again, while its data are kept; its databases stay suspended")
    .action(async (id: string) => {
      const saved = await adminClient().post<Account>(`${ACCOUNTS}/${segment(id)}/reopen`, {});
      output.printResult(
        saved,
        `Account ${id} is open. Its users sign in as before and need new tokens; its databases are suspended until they are resumed.`,
      );
    });

  account
    .command("set-limits <account>")
    .description("change what an account may have; limits that are not named stay, and so does what it has")
    .option("--databases <n>", "how many databases", wholeNumber)
    .option("--nodes <n>", "how many database nodes", wholeNumber)
    .option("--memory-mb <n>", "how much memory in all", wholeNumber)
    .option("--disk-mb <n>", "how much disk in all", wholeNumber)
    .action(async (id: string, options: LimitOptions) => {
      if (Object.keys(options).length === 0)
        throw new Refused("Name at least one limit: --databases, --nodes, --memory-mb or --disk-mb.");
      const saved = await adminClient().post<Account>(`${ACCOUNTS}/${segment(id)}/limits`, limitsOf(options));
      output.printResult(saved, `Account ${id} may have ${inWords(saved.limits)}.`);
    });

  const setCapability = async (id: string, capability: string, granted: boolean): Promise<void> => {
    const path = `${ACCOUNTS}/${segment(id)}/capabilities`;
    const saved = await adminClient().post<Account>(path, { capability, granted });
    output.printResult(saved, `Account ${id} has: ${saved.capabilities.join(", ") || "no capability"}.`);
  };
  account
    .command("grant-capability <account> [capability]")
    .description(`give an account a capability (default: "${MANAGED_DATABASES}")`)
    .action((id: string, capability = MANAGED_DATABASES) => setCapability(id, capability, true));
  account
    .command("revoke-capability <account> [capability]")
    .description(`take a capability back (default: "${MANAGED_DATABASES}")`)
    .action((id: string, capability = MANAGED_DATABASES) => setCapability(id, capability, false));
}

const limitsOf = ({ databases, nodes, memoryMb, diskMb }: LimitOptions) => ({
  databases,
  nodes,
  memory_mb: memoryMb,
  disk_mb: diskMb,
});

const inWords = ({ databases, nodes, memory_mb, disk_mb }: Amounts): string =>
  `${databases} databases, ${nodes} nodes, ${memory_mb} MB of memory and ${disk_mb} MB of disk`;

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

function linesOf(account: WholeAccount): string[] {
  const { contact, card, cancellation, closed, data_until } = account;
  const address = ["address_1", "address_2", "zip", "city", "state", "country"].map((field) => contact[field] ?? "");
  const facts: [string, string][] = [
    ["account", `${account.id}, ${account.company} (${account.euuid}), since ${account.created}`],
    ["operator's e-mail", account.email],
    [
      "contact",
      [contact["first_name"], contact["last_name"], contact["email"], contact["phone"]].filter(Boolean).join(" "),
    ],
    ["address", address.filter(Boolean).join(", ")],
    ["tax id", contact["tax_id"] ?? ""],
    ["has", `${inWords(account.used)}, of ${inWords(account.limits)}`],
    ["capabilities", account.capabilities.join(", ")],
    ["sees availability", account.sees_availability ? "yes" : "no"],
    ["billed by", account.billing_source],
    ["owes", `${dollars(account.balance)}, and ${dollars(account.balance_uninvoiced)} not invoiced yet`],
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
