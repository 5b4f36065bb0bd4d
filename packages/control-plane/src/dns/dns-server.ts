/** Everything of one type under one name. No addresses: nothing of that type is there. */
export type RecordSet = { name: string; type: "A" | "AAAA"; addresses: readonly string[] };

/** The name server, as far as it concerns us. It serves names by itself: nobody waits for us to resolve one. */
export type DnsServer = {
  /** Makes these record sets so, all of them or none. It states them whole, so it can be repeated. */
  setRecords(sets: readonly RecordSet[]): Promise<void>;
};
