import type { HostRow } from "#fleet/index.ts";
import type { RecordSet } from "#dns/index.ts";
import { primaryHostname, privateHostname } from "./hostnames.ts";

type Addresses = Pick<HostRow, "address" | "address6" | "private_address">;

/** All records of a database: all of its hosts, or none when it must not be reachable. */
export function recordSetsOf(databaseId: number, hosts: readonly Addresses[], zone: string): RecordSet[] {
  const under = (name: string, places: readonly (string | null)[]): RecordSet[] => {
    const known = [...new Set(places.filter((place) => place !== null))].sort();
    return [
      { name, type: "A", addresses: known.filter((address) => !address.includes(":")) },
      { name, type: "AAAA", addresses: known.filter((address) => address.includes(":")) },
    ];
  };
  return [
    ...under(
      primaryHostname(databaseId, zone),
      hosts.flatMap(({ address, address6 }) => [address, address6]),
    ),
    // A host without a private network has its public addresses under both hostnames.
    ...under(
      privateHostname(databaseId, zone),
      hosts.flatMap((host) => (host.private_address === null ? [host.address, host.address6] : [host.private_address])),
    ),
  ];
}
