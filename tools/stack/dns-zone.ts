import { existsSync } from "node:fs";
import { mkdir, readFile, rename } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { dirname } from "node:path";
import { bridgeAddress, dnsApiKey, dnsApiUrl, zone } from "./addresses.ts";
import { dnsDatabase } from "./config-files.ts";

const schema = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";

export async function ensureDnsDatabase(): Promise<void> {
  if (existsSync(dnsDatabase)) return;
  await mkdir(dirname(dnsDatabase), { recursive: true });
  const database = new DatabaseSync(`${dnsDatabase}.new`);
  database.exec(await readFile(schema, "utf8"));
  database.close();
  await rename(`${dnsDatabase}.new`, dnsDatabase);
}

export async function ensureZone(): Promise<void> {
  const zones = `${dnsApiUrl}/api/v1/servers/localhost/zones`;
  const headers = { "x-api-key": dnsApiKey, "content-type": "application/json" };
  const found = await fetch(`${zones}/${zone}.`, { headers });
  if (found.ok) return;
  const server = `ns1.${zone}.`;
  const address = { name: server, type: "A", ttl: 60, records: [{ content: bridgeAddress, disabled: false }] };
  const desired = { name: `${zone}.`, kind: "Native", nameservers: [server], rrsets: [address] };
  const made = await fetch(zones, { method: "POST", headers, body: JSON.stringify(desired) });
  if (!made.ok) throw new Error(`The zone ${zone} was refused: ${await made.text()}`);
}
