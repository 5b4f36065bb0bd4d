import * as contract from "@moorage/contract/operator";
import { Command, Option } from "commander";
import { texts } from "../accounts/texts.ts";
import { type AdminCommand, type AdminDeps, define } from "./admin-command.ts";

const setStatus = (verb: string, summary: string, status: contract.OAuthClient["status"]): AdminCommand =>
  define({
    words: `oauth-client ${verb}`,
    operation: contract.setOAuthClientStatus,
    summary,
    sets: { status },
    print: (client) => (client.status === "active" ? texts.oauthClientEnabled : texts.oauthClientBlocked)(client),
  });

const setVerified = (verb: string, summary: string, verified: boolean): AdminCommand =>
  define({
    words: `oauth-client ${verb}`,
    operation: contract.setOAuthClientVerified,
    summary,
    sets: { verified },
    print: (client) => (client.verified ? texts.oauthClientVerified : texts.oauthClientNotVerified)(client),
  });

export const oauthClientCommands: readonly AdminCommand[] = [
  define({
    words: "oauth-client list",
    operation: contract.listOAuthClients,
    list: ({ id, account, label, redirect_uri, public: isPublic, status, may_add_query, verified }) => ({
      id,
      account,
      label,
      "redirect URI": redirect_uri,
      "may add query": may_add_query,
      public: isPublic,
      verified,
      status,
    }),
    empty: texts.noOauthClients(),
  }),
  setStatus("enable", "Unblock an OAuth client. Its tokens that have not expired work again.", "active"),
  setStatus("disable", "Block an OAuth client and its tokens, with the status disabled", "disabled"),
  setStatus("suspend", "Block an OAuth client and its tokens for abuse, with the status suspended", "suspended"),
  setVerified("verify", "Allow an OAuth client to ask users of all accounts for consent", true),
  setVerified("unverify", "Allow an OAuth client to ask only users of its own account for consent", false),
];

/** A person types on or off, the interface has a boolean. */
export const trustCommand = ({ client, output }: AdminDeps): Command =>
  new Command("trust")
    .description(contract.setOAuthClientTrust.summary)
    .argument("<client>")
    .addOption(new Option("--query <choice>", "allow or forbid a query").choices(["on", "off"]).makeOptionMandatory())
    .action(async (clientId: string, { query }: { query: "on" | "off" }) => {
      const body = { may_add_query: query === "on" };
      const saved = await client().call(contract.setOAuthClientTrust, { params: { clientId }, body });
      const result = saved.may_add_query ? texts.oauthClientQueryAllowed : texts.oauthClientQueryDisallowed;
      output.printResult(saved, result({ label: saved.label, id: saved.id, uri: saved.redirect_uri }));
    });
