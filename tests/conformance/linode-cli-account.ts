import type { Checks } from "./checks.ts";
import { gone, one } from "./linode-cli-identity.ts";
import { type Cli, differs, lacks } from "./linode-cli-rows.ts";
import { type Account, ADDRESS, CARD, newCompute, newInvoice } from "./money-things.ts";
import { env } from "../kit/stack-env.ts";

type Check = Checks["check"];

/** The account and its billing, with a separate account, because it is cancelled at the end. */
export async function account(cli: Cli, other: Cli, { id }: Account, check: Check): Promise<void> {
  await contact(cli, check);
  await paymentMethods(cli, check);
  await payments(cli, check);
  await invoices(cli, await newInvoice(id), check);
  await transfers(cli, other, id, check);
  await check("account maintenance-list", () => cli("account", "maintenance-list"));
  await check("account notifications-list", () => cli("account", "notifications-list"));
  await check(
    "account cancel",
    () => one(cli, "account", "cancel", "--comments", "Only here for a day."),
    (row) => (typeof row["survey_link"] === "string" ? undefined : JSON.stringify(row)),
  );
  await check("account view of a closed account exits with 1", () => gone(cli, "account", "view"));
}

async function contact(cli: Cli, check: Check): Promise<void> {
  const seen = await check("account view", () => one(cli, "account", "view"), differs({ balance: 0 }));
  await check(
    "account update",
    () => one(cli, "account", "update", "--country", ADDRESS.country, "--zip", ADDRESS.zip, "--city", "Hamburg"),
    differs({ ...ADDRESS, city: "Hamburg", euuid: seen?.["euuid"] }),
  );
  await check("account update to a country that is none exits with 1", () =>
    gone(cli, "account", "update", "--country", "QQ"),
  );
  await check("account settings", () => one(cli, "account", "settings"), differs({ managed: false }));
  await check(
    "account settings-update",
    () => one(cli, "account", "settings-update", "--network_helper", "false"),
    differs({ network_helper: false }),
  );
  await check("account transfer", () => one(cli, "account", "transfer"), differs({ used: 0 }));
  const region = env("MOORAGE_REGION");
  await check("account get-availability", () => cli("account", "get-availability"), lacks("region", region));
  await check(
    "account get-account-availability",
    () => one(cli, "account", "get-account-availability", region),
    differs({ region }),
  );
}

const addCard = (cli: Cli, isDefault: boolean) =>
  cli(
    "payment-methods",
    "add",
    "--type",
    "credit_card",
    "--is_default",
    String(isDefault),
    ...Object.entries(CARD).flatMap(([name, value]) => [`--data.${name}`, String(value)]),
  );

async function paymentMethods(cli: Cli, check: Check): Promise<void> {
  await check("payment-methods add, the first", () => addCard(cli, true));
  await check("payment-methods add, a second", () => addCard(cli, false));
  const found = await check(
    "payment-methods list has both, one of them the default",
    () => cli("payment-methods", "list"),
    (rows) => (rows.length === 2 && rows.filter((row) => row["is_default"]).length === 1 ? undefined : "not so"),
  );
  const [first, second] = [found?.[0], found?.[1]].map((row) => String(row?.["id"]));
  if (first === undefined || second === undefined) return;
  await check(
    "payment-methods view shows four digits",
    () => one(cli, "payment-methods", "view", first),
    ({ data }) => (JSON.stringify(data).includes("4242424242424242") ? "all of them" : undefined),
  );
  await check("payment-methods delete of the default exits with 1", () =>
    gone(cli, "payment-methods", "delete", first),
  );
  await check("payment-methods default", () => cli("payment-methods", "default", second));
  await check("payment-methods delete", () => cli("payment-methods", "delete", first));
  await check(
    "account view shows the card",
    () => one(cli, "account", "view"),
    (row) => (JSON.stringify(row["credit_card"]).includes("4242") ? undefined : JSON.stringify(row["credit_card"])),
  );
}

async function payments(cli: Cli, check: Check): Promise<void> {
  const made = await check(
    "account payment-create",
    () => one(cli, "account", "payment-create", "--usd", "12.50"),
    differs({ usd: 12.5 }),
  );
  const id = String(made?.["id"]);
  await check("account payments-list", () => cli("account", "payments-list"), lacks("id", made?.["id"]));
  await check("account payment-view", () => one(cli, "account", "payment-view", id), differs({ usd: 12.5 }));
  await check("account view shows it as a credit", () => one(cli, "account", "view"), differs({ balance: -12.5 }));
}

async function invoices(cli: Cli, invoice: number, check: Check): Promise<void> {
  await check("account invoices-list", () => cli("account", "invoices-list"), lacks("id", invoice));
  await check(
    "account invoice-view",
    () => one(cli, "account", "invoice-view", String(invoice)),
    differs({ id: invoice, subtotal: 10, tax: 2, total: 12 }),
  );
  await check(
    "account invoice-items",
    () => one(cli, "account", "invoice-items", String(invoice)),
    differs({ type: "hourly", quantity: 500, amount: 10 }),
  );
}

async function transfers(cli: Cli, other: Cli, accountId: number, check: Check): Promise<void> {
  const offer = async (name: string): Promise<string> => {
    const compute = String(await newCompute(accountId));
    const made = await check(
      name,
      () => one(cli, "service-transfers", "create", "--entities.linodes", compute),
      differs({ status: "pending", is_sender: true }),
    );
    return String(made?.["token"]);
  };
  const token = await offer("service-transfers create");
  await check("service-transfers list", () => cli("service-transfers", "list"), lacks("token", token));
  await check(
    "service-transfers view by another account that has the token",
    () => one(other, "service-transfers", "view", token),
    differs({ status: "pending", is_sender: false }),
  );
  await check("service-transfers accept by its sender exits with 1", () =>
    gone(cli, "service-transfers", "accept", token),
  );
  await check("service-transfers accept", () => other("service-transfers", "accept", token));
  await check(
    "service-transfers view of what was accepted",
    () => one(cli, "service-transfers", "view", token),
    ({ status }) => (status === "accepted" || status === "completed" ? undefined : String(status)),
  );
  const withdrawn = await offer("service-transfers create, another");
  await check("service-transfers cancel", () => cli("service-transfers", "cancel", withdrawn));
  await check("service-transfers view of what was withdrawn, by another account, exits with 1", () =>
    gone(other, "service-transfers", "view", withdrawn),
  );
}
