import * as contract from "@moorage/contract/operator";
import { Command } from "commander";
import { amountsIn, texts } from "../accounts/texts.ts";
import { Refused } from "../refused.ts";
import { texts as shared } from "../texts.ts";
import { idAsTyped } from "./admin-client.ts";
import { type AdminCommand, type AdminDeps, define } from "./admin-command.ts";

const capability = (words: string, summary: string, granted: boolean): AdminCommand =>
  define({
    words,
    operation: contract.setCapability,
    summary,
    arguments: ["capability"],
    sets: { granted },
    print: ({ capabilities }, { accountId: account = "" }) => texts.capabilitiesSaved({ account, capabilities }),
  });

export const accountCommands: readonly AdminCommand[] = [
  define({
    words: "account create",
    operation: contract.saveAccount,
    print: ({ id, company, email }) => texts.accountSaved({ id, company, email }),
  }),
  define({
    words: "account list",
    operation: contract.listAccounts,
    list: ({ id, company, email, used, limits, capabilities, closed }) => ({
      id,
      company,
      email,
      databases: `${used.databases} of ${limits.databases}`,
      nodes: `${used.nodes} of ${limits.nodes}`,
      "memory MB": `${used.memory_mb} of ${limits.memory_mb}`,
      "disk MB": `${used.disk_mb} of ${limits.disk_mb}`,
      capabilities: capabilities.join(", "),
      closed,
    }),
    empty: shared.noAccounts(),
  }),
  define({ words: "account show", operation: contract.viewAccount, print: (account) => linesOf(account).join("\n") }),
  define({
    words: "account reopen",
    operation: contract.reopenAccount,
    print: (_, { accountId: account = "" }) => texts.accountReopened({ account }),
  }),
  define({
    words: "account set-limits",
    operation: contract.setAccountLimits,
    changes: true,
    print: ({ limits }, { accountId: account = "" }) => texts.limitsSaved({ account, limits }),
  }),
  capability("account grant-capability", 'Grant a capability to an account (default: "Managed Databases")', true),
  capability("account revoke-capability", 'Revoke a capability of an account (default: "Managed Databases")', false),
];

/** A person types on or off, the interface has a boolean. */
export const availabilityCommand = ({ client, output }: AdminDeps): Command =>
  new Command("availability")
    .description(contract.showAvailability.summary)
    .argument("<account>")
    .argument("<on|off>")
    .action(async (account: string, setting: string) => {
      if (setting !== "on" && setting !== "off") throw new Refused(texts.availabilityInvalid());
      const params = { accountId: idAsTyped(account) };
      const saved = await client().call(contract.showAvailability, { params, body: { on: setting === "on" } });
      const result = setting === "on" ? texts.availabilityVisible : texts.availabilityHidden;
      output.printResult(saved, result({ account }));
    });

const dollars = (amount: number): string => `$${amount.toFixed(2)}`;

function linesOf(account: contract.WholeAccount): string[] {
  const { contact, card, cancellation, closed, data_until } = account;
  const { address_1, address_2, zip, city, state, country } = contact;
  const facts: [string, string][] = [
    ["account", `${account.id}, ${account.company} (${account.euuid}), since ${account.created}`],
    ["owner's e-mail", account.email],
    ["contact", [contact.first_name, contact.last_name, contact.email, contact.phone].filter(Boolean).join(" ")],
    ["address", [address_1, address_2, zip, city, state, country].filter(Boolean).join(", ")],
    ["tax id", contact.tax_id],
    ["usage", amountsIn(account.used)],
    ["limits", amountsIn(account.limits)],
    ["capabilities", account.capabilities.join(", ")],
    ["availability shown", account.sees_availability ? "yes" : "no"],
    ["billing source", account.billing_source],
    ["balance", `${dollars(account.balance)}, and ${dollars(account.balance_uninvoiced)} not invoiced yet`],
    ["card", card === null ? "none" : `${card.type} ${card.last_four}`],
    [
      "closed",
      closed === null ? "" : `${closed}, data ${data_until === null ? "deleted" : `kept until ${data_until}`}`,
    ],
    ["cancelled by", cancellation === null ? "" : `${cancellation.by}: ${cancellation.comments || "no comment"}`],
  ];
  return facts.filter(([, text]) => text !== "").map(([name, text]) => `${`${name}:`.padEnd(20)}${text}`);
}
