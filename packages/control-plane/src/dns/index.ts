export type { DnsServer, RecordSet } from "./dns-server.ts";
export { createPowerDns } from "./power-dns.ts";
