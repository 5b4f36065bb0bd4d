/**
 * Searches for every secret that the tests used in everything that the stack stores: dumps of its databases, Valkey,
 * every log. To prove that the search works, it first plants a text in each of them, and must find it.
 *
 *   node tests/security/secret-scan.ts      after `pnpm test:system`
 */
import { randomBytes } from "node:crypto";
import { kindsOfSecret, readCanaries } from "../kit/canaries.ts";
import { stackEnv } from "../kit/stack-env.ts";
import { type Canary, createSearch, type Hit } from "./search.ts";
import { everyStore, type Store } from "./stores.ts";

/** The credentials of the stack's own users and operator. */
const ofTheStack = ["MOORAGE_TOKEN", "MOORAGE_RESTRICTED_TOKEN", "MOORAGE_OTHER_TOKEN", "MOORAGE_PASSWORD"];

function gatherCanaries(): Canary[] {
  const env = stackEnv();
  const seeded = [...ofTheStack, "MOORAGE_OPERATOR_TOKEN"].map((kind) => ({ kind, secret: env[kind] ?? "" }));
  const used = readCanaries();
  const missing = kindsOfSecret.filter((kind) => !used.some((each) => each.kind === kind));
  const empty = seeded.filter(({ secret }) => secret === "").map(({ kind }) => kind);
  if (missing.length + empty.length > 0)
    throw new Error(`Nothing to look for: ${[...missing, ...empty].join(", ")}. Run pnpm test:system first.`);
  return [...seeded, ...used];
}

async function scan(store: Store, canaries: readonly Canary[]): Promise<{ hits: Hit[]; bytes: number }> {
  const search = createSearch(canaries);
  for await (const chunk of store.stream()) search.read(chunk);
  return { hits: search.hits(), bytes: search.bytes() };
}

/** Planted as it is and once more in base64, to show that both ways of searching work in this store. */
async function findsPlanted(store: Store): Promise<boolean> {
  const secret = `planted "${randomBytes(12).toString("hex")}" & left`;
  const inside = Buffer.from(`a${secret}z`).toString("base64");
  const takeAway = await store.plant(`${secret.replaceAll('"', "'")} ${encodeURIComponent(secret)} ${inside}`);
  try {
    const { hits } = await scan(store, [{ kind: "planted", secret }]);
    const ways = ["URL-encoded", "base64 of the text, behind 1"];
    return ways.every((way) => hits.some(({ how }) => how === way));
  } finally {
    await takeAway();
  }
}

const canaries = gatherCanaries();
let faults = 0;
let bytes = 0;
const stores = await everyStore();
for (const store of stores) {
  const sees = await findsPlanted(store);
  const { hits, bytes: read } = await scan(store, canaries);
  bytes += read;
  faults += hits.length + (sees ? 0 : 1);
  console.log(
    `${sees ? "sees   " : "IS BLIND"} ${store.name.padEnd(28)} ${read.toString().padStart(12)} bytes  ${hits.length} hits`,
  );
  for (const { kind, how, near } of hits) console.log(`         ${kind}, ${how}, after: ${near}`);
}
console.log(`${canaries.length} secrets in ${stores.length} stores, ${bytes} bytes: ${faults} faults`);
process.exitCode = faults === 0 ? 0 : 1;
