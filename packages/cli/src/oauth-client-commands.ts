import { type Command, Option } from "commander";
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
  const client = program.command("oauth-client").description("apps that accounts have registered");

  client
    .command("list")
    .description("every app, or those of one account")
    .option("--account <id>", "only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const clients = await adminClient().all<Client>(
        account === undefined ? CLIENTS : `${CLIENTS}?account=${segment(account)}`,
      );
      output.list(clients, rowOf, "No app is registered. Accounts register theirs by POST /v4/account/oauth-clients.");
    });

  const setStatus = async (id: string, status: string, words: string): Promise<void> => {
    const saved = await adminClient().post<Client>(`${CLIENTS}/${segment(id)}/status`, { status });
    output.printResult(saved, `${saved.label} (${saved.id}) of account ${saved.account} is ${saved.status}. ${words}`);
  };
  const closed = "Nobody can sign in to it, and its tokens are dead everywhere within a second.";
  client
    .command("enable <id>")
    .description("let an app in again; tokens of before that have not expired work again")
    .action((id: string) => setStatus(id, "active", "It may be used again, with the tokens that it has."));
  client
    .command("disable <id>")
    .description("shut an app out, as its account would wish")
    .action((id: string) => setStatus(id, "disabled", closed));
  client
    .command("suspend <id>")
    .description("shut an app out for what it does to others")
    .action((id: string) => setStatus(id, "suspended", closed));

  client
    .command("trust <id>")
    .description("whether an app may add a query of its own to its redirect address")
    .addOption(new Option("--query <choice>", "on or off").choices(["on", "off"]).makeOptionMandatory())
    .action(async (id: string, { query }: { query: "on" | "off" }) => {
      const path = `${CLIENTS}/${segment(id)}/trust`;
      const saved = await adminClient().post<Client>(path, { may_add_query: query === "on" });
      output.printResult(
        saved,
        saved.may_add_query
          ? `${saved.label} (${saved.id}) may add a query to ${saved.redirect_uri}.`
          : `${saved.label} (${saved.id}) is sent to ${saved.redirect_uri} alone.`,
      );
    });
}

const rowOf = ({ id, account, label, redirect_uri, public: isPublic, status, may_add_query }: Client) => ({
  id,
  account,
  label,
  "redirects to": redirect_uri,
  "adds a query": may_add_query,
  public: isPublic,
  status,
});
