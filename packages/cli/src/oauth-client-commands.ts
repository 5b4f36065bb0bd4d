import { type Command, Option } from "commander";
import { texts } from "./accounts/texts.ts";
import { segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Client = {
  id: string;
  account: number;
  label: string;
  redirect_uri: string;
  public: boolean;
  status: string;
  may_add_query: boolean;
  created: string;
};

const CLIENTS = "/admin/oauth-clients";

export function oauthClientCommands(program: Command, output: Output): void {
  const client = program.command("oauth-client").description("Manage the OAuth clients that accounts have registered");

  client
    .command("list")
    .description("List the OAuth clients of all accounts")
    .option("--account <id>", "list only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const clients = await adminClient().all<Client>(
        account === undefined ? CLIENTS : `${CLIENTS}?account=${segment(account)}`,
      );
      output.list(clients, rowOf, texts.noOauthClients());
    });

  const setStatus = async (id: string, status: string): Promise<void> => {
    const saved = await adminClient().post<Client>(`${CLIENTS}/${segment(id)}/status`, { status });
    output.printResult(saved, status === "active" ? texts.oauthClientEnabled(saved) : texts.oauthClientBlocked(saved));
  };
  client
    .command("enable <id>")
    .description("Unblock an OAuth client. Its tokens that have not expired work again.")
    .action((id: string) => setStatus(id, "active"));
  client
    .command("disable <id>")
    .description("Block an OAuth client and its tokens, with the status disabled")
    .action((id: string) => setStatus(id, "disabled"));
  client
    .command("suspend <id>")
    .description("Block an OAuth client and its tokens for abuse, with the status suspended")
    .action((id: string) => setStatus(id, "suspended"));

  client
    .command("trust <id>")
    .description("Allow or forbid that an OAuth client adds a query to its redirect URI")
    .addOption(new Option("--query <choice>", "allow or forbid a query").choices(["on", "off"]).makeOptionMandatory())
    .action(async (id: string, { query }: { query: "on" | "off" }) => {
      const path = `${CLIENTS}/${segment(id)}/trust`;
      const saved = await adminClient().post<Client>(path, { may_add_query: query === "on" });
      const result = saved.may_add_query ? texts.oauthClientQueryAllowed : texts.oauthClientQueryDisallowed;
      output.printResult(saved, result({ label: saved.label, id: saved.id, uri: saved.redirect_uri }));
    });
}

const rowOf = ({ id, account, label, redirect_uri, public: isPublic, status, may_add_query }: Client) => ({
  id,
  account,
  label,
  "redirect URI": redirect_uri,
  "may add query": may_add_query,
  public: isPublic,
  status,
});
