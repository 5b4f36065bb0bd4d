/** How long a resolver may cache an address: a change is visible everywhere after this time. */
const TTL_SECONDS = 30;
const PATIENCE_MS = 5_000;

/** All records of one type and name. No addresses: the record set does not exist. */
export type RecordSet = { name: string; type: "A" | "AAAA"; addresses: readonly string[] };

/** The DNS server as the control plane uses it. It answers queries by itself: no lookup waits for the control plane. */
export type DnsServer = {
  /** Replaces these record sets, all of them or none. Repeatable: each set is complete. */
  setRecords(sets: readonly RecordSet[]): Promise<void>;
};

type PowerDnsSettings = { url: string; key: string; zone: string; patienceMs?: number };

/** PowerDNS by its HTTP API. One request changes all of its record sets in one transaction of the server. */
export const createPowerDns = ({ url, key, zone, patienceMs = PATIENCE_MS }: PowerDnsSettings): DnsServer => ({
  async setRecords(sets) {
    const reply = await fetch(new URL(`/api/v1/servers/localhost/zones/${encodeURIComponent(`${zone}.`)}`, url), {
      method: "PATCH",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ rrsets: sets.map(changeOf) }),
      signal: AbortSignal.timeout(patienceMs),
    });
    const responseText = await reply.text();
    if (!reply.ok) throw new Error(`The name server answered ${reply.status} for the zone ${zone}: ${responseText}`);
  },
});

const changeOf = ({ name, type, addresses }: RecordSet): object => ({
  name: `${name}.`,
  type,
  ttl: TTL_SECONDS,
  changetype: addresses.length === 0 ? "DELETE" : "REPLACE",
  records: addresses.map((content) => ({ content, disabled: false })),
});
