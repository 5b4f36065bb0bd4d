export type { Names, RecordSet } from "./names.ts";
export { createPowerDns } from "./power-dns.ts";
