import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { adminUrl, publicUrl, region, secondRegion } from "./addresses.ts";
import { choosePassword } from "./choose-password.ts";
import type { Host } from "./hosts.ts";
import { operatorToken } from "./keys.ts";
import { inStack } from "./paths.ts";
import { engineFact } from "./image-store.ts";
import { waitUntil } from "./wait-until.ts";

/** Tokens are shown once and passwords never, so the stack stores them. */
export type Seed = {
  plan: string;
  engine: string;
  image: string;
  tokens: { owner: string; restricted: string; other: string };
  owner: { username: string; password: string };
};

const seedFile = inStack("seed.json");
const plan = "m1-small";
const OWNER = "baker";
const limits = { databases: 100, nodes: 150, memory_mb: 204_800, disk_mb: 2_048_000 };

const suspended = { suspended_hourly: "0.0015", suspended_monthly: "1" };
const priceOf = (hourly: string, monthly: string) => ({ hourly, monthly, ...suspended });

/** Two places with different taxes: one for a whole country, and one for a state. */
const taxes = [
  { country: "DE", name: "VAT", percent: "19", waived_by_tax_id: true },
  { country: "US", state: "NY", name: "Sales tax", percent: "8.875" },
];
const addresses = {
  bakery: { address_1: "Am Kai 1", city: "Hamburg", country: "DE", zip: "20457" },
  other: { address_1: "1 Pier", city: "New York", country: "US", state: "NY", zip: "10004" },
};

/** Calls the operator's interface. Every call can be repeated, because objects are found by their natural key. */
export async function admin<T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${operatorToken()}`, "content-type": "application/json" };
  const reply = await fetch(`${adminUrl}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path} was answered ${reply.status}: ${text}`);
  return JSON.parse(text === "" ? "{}" : text) as T;
}

export async function seedCatalogue(): Promise<Seed> {
  await admin("POST", "/admin/regions", { id: region, label: "Frankfurt", country: "de" });
  await admin("POST", "/admin/regions", { id: secondRegion, label: "Paris", country: "fr" });
  const standard = { class: "standard" };
  await admin("POST", "/admin/plans", {
    ...standard,
    id: plan,
    label: "Small 1 GB",
    memory_mb: 1024,
    disk_mb: 10_240,
    vcpus: 1,
    price: priceOf("0.0225", "15"),
  });
  await admin("POST", "/admin/plans", {
    ...standard,
    id: "m1-medium",
    label: "Medium 2 GB",
    memory_mb: 2048,
    disk_mb: 20_480,
    vcpus: 2,
    price: priceOf("0.045", "30"),
  });
  await seedTaxes();
  const engine = `mysql/${await engineFact("version")}`;
  const image = await engineFact("sha256");
  const prepared = await engineFact("prepared.sha256");
  await admin("POST", "/admin/engines", { id: engine, image, prepared });
  const { tokens: seeded, owner } = readSeed() ?? {};
  const tokens = seeded ?? (await seedAccounts());
  await setAddress(tokens.owner, addresses.bakery);
  await setAddress(tokens.other, addresses.other);
  return {
    plan,
    engine,
    image,
    tokens,
    owner: owner ?? { username: OWNER, password: await seedPassword() },
  };
}

/** An existing rate is not set again, because it would then take effect now. */
async function seedTaxes(): Promise<void> {
  const { data } = await admin<{ data: { country: string; name: string }[] }>("GET", "/admin/taxes");
  for (const tax of taxes)
    if (!data.some(({ country, name }) => country === tax.country && name === tax.name))
      await admin("POST", "/admin/taxes", tax);
}

/** Sets the billing address as the owner would. Without a zip no card can be added. */
async function setAddress(token: string, address: object): Promise<void> {
  const reply = await fetch(`${publicUrl}/v4/account`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(address),
  });
  if (!reply.ok) throw new Error(`PUT /v4/account was answered ${reply.status}: ${await reply.text()}`);
}

/** Sets a password as an operator and a user would: a link, and a password chosen with it. */
async function seedPassword(): Promise<string> {
  const bakery = await bakeryAccount();
  const made = await admin<{ link: string }>("POST", `/admin/accounts/${bakery}/users/${OWNER}/password-link`, {});
  const password = `harbour ${randomBytes(12).toString("base64url")}`;
  await choosePassword(made.link, password);
  return password;
}

async function seedAccounts(): Promise<Seed["tokens"]> {
  const bakery = await bakeryAccount();
  const other = await account("Other Company", "owner@other.test");
  return {
    owner: await userToken(bakery, OWNER, "owner@bakery.test", false),
    restricted: await userToken(bakery, "clerk", "clerk@bakery.test", true),
    other: await userToken(other, "other", "owner@other.test", false),
  };
}

/** The account to whose unrestricted user the stack's own token belongs. */
export const bakeryAccount = (): Promise<number> => account("Harbour Bakery", "owner@bakery.test");

async function account(company: string, email: string): Promise<number> {
  const { id } = await admin<{ id: number }>("POST", "/admin/accounts", { company, email, limits });
  return id;
}

async function userToken(accountId: number, username: string, email: string, restricted: boolean): Promise<string> {
  const users = `/admin/accounts/${accountId}/users`;
  await admin("POST", users, { username, email, restricted });
  const newToken = { label: "stack", scopes: ["*"] };
  const { token } = await admin<{ token: string }>("POST", `${users}/${username}/tokens`, newToken);
  return token;
}

export const keepSeed = (seed: Seed): Promise<void> =>
  writeFile(seedFile, `${JSON.stringify(seed, undefined, 2)}\n`, { mode: 0o600 });

/** Adds what a stack that was seeded by older code may lack. */
function readSeed(): Partial<Seed> | undefined {
  try {
    return JSON.parse(readFileSync(seedFile, "utf8")) as Partial<Seed>;
  } catch {
    return undefined;
  }
}

/** Registers the host; until the host is enrolled, the reply contains the one-time token for its agent. */
export async function seedHost(host: Host): Promise<void> {
  const reply = await admin<{ id: number; enrol_token?: string | null }>("POST", "/admin/hosts", {
    name: host.name,
    region,
    failure_domain: `rack-${host.number}`,
    address: host.address,
    address6: host.address6,
    private_address: host.privateAddress,
    node_network: host.nodeNetwork,
    memory_mb: 65_536,
    disk_mb: 1_048_576,
    vcpus: 64,
  });
  if (reply.enrol_token) await writeFile(join(host.dir, "enrol-token"), reply.enrol_token, { mode: 0o600 });
}

type HostList = { data: { name: string; state: string; compared: boolean }[] };

export async function waitHostsActive(hosts: readonly Host[], seconds: number): Promise<string[]> {
  let missing = hosts.map((host) => host.name);
  await waitUntil(seconds, async () => {
    const { data } = await admin<HostList>("GET", "/admin/hosts");
    const isReady = ({ state, compared }: HostList["data"][number]): boolean => state === "active" && compared;
    const active = new Set(data.filter(isReady).map((host) => host.name));
    missing = hosts.map((host) => host.name).filter((name) => !active.has(name));
    return missing.length === 0;
  });
  return missing;
}
