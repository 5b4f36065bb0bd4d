/** A host as an input of placement, which is pure: it chooses and reserves nothing. */
export type Candidate = {
  id: number;
  failure_domain: string;
  memory_mb: number;
  disk_mb: number;
  reserved_memory_mb: number;
  reserved_disk_mb: number;
  /** Volumes of removed nodes that are still on the disk. */
  trash_mb: number;
  seen_at: Date | null;
};
export type Need = {
  count: number;
  memory_mb: number;
  disk_mb: number;
  /** Failure domains that already have a node of this database. */
  taken?: readonly string[];
};

/** Three missed polls. A host that was last seen longer ago gets no new nodes. */
export const SILENT_AFTER_MS = 30_000;

const hasRoom = (host: Candidate, need: Need): boolean =>
  host.reserved_memory_mb + need.memory_mb <= host.memory_mb &&
  host.reserved_disk_mb + host.trash_mb + need.disk_mb <= host.disk_mb;

/**
 * Chooses hosts for the nodes of one database: all different, in different failure domains where there are enough, the
 * emptiest first. Undefined: no room.
 */
export function place(candidates: readonly Candidate[], need: Need, now: Date): number[] | undefined {
  const usable = candidates
    .filter(
      (host) =>
        host.seen_at !== null && now.getTime() - host.seen_at.getTime() < SILENT_AFTER_MS && hasRoom(host, need),
    )
    .sort((a, b) => load(a) - load(b) || a.id - b.id);
  const chosen: Candidate[] = [];
  const taken = new Set(need.taken);
  for (const host of usable) {
    if (chosen.length === need.count || taken.has(host.failure_domain)) continue;
    chosen.push(host);
    taken.add(host.failure_domain);
  }
  for (const host of usable) if (chosen.length < need.count && !chosen.includes(host)) chosen.push(host);
  return chosen.length === need.count ? chosen.map(({ id }) => id) : undefined;
}

const load = (host: Candidate): number =>
  Math.max(host.reserved_memory_mb / host.memory_mb, (host.reserved_disk_mb + host.trash_mb) / host.disk_mb);
