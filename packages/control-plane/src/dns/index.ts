export { createPowerDns, type DnsServer, type RecordSet } from "./power-dns.ts";
