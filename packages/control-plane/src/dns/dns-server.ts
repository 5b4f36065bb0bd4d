/** All records of one type and name. No addresses: the record set does not exist. */
export type RecordSet = { name: string; type: "A" | "AAAA"; addresses: readonly string[] };

/** The DNS server as the control plane uses it. It answers queries by itself: no lookup waits for the control plane. */
export type DnsServer = {
  /** Replaces these record sets, all of them or none. Repeatable: each set is complete. */
  setRecords(sets: readonly RecordSet[]): Promise<void>;
};
