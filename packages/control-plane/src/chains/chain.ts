import { createHash } from "node:crypto";
import type { Sealer } from "#platform/seal.ts";

/** A row of a table as it was when it was linked. */
export type Entry = { position: number; key: readonly number[]; digest: Buffer; linkedAt: Date };
export type Link = Entry & { hash: Buffer };
export type Head = { position: number; hash: Buffer; code: string };

/** The chains, each of which is a table whose rows are written once, with the columns of its primary key. */
export const CHAINS = {
  audit: ["id"],
  ledger: ["account_id", "id"],
  invoices: ["account_id", "id"],
  invoice_items: ["account_id", "invoice_id", "ordinal"],
  adjustments: ["account_id", "id"],
  payments: ["account_id", "id"],
  refunds: ["account_id", "id"],
  credits: ["account_id", "id"],
} as const satisfies Record<string, readonly string[]>;
export type Chain = keyof typeof CHAINS;
export const chainNames = Object.keys(CHAINS) as Chain[];

/** Undefined: no previous link is proven. Only the first link of a chain has none. */
export const hashOf = (
  chain: string,
  { position, key, digest, linkedAt }: Entry,
  previous: Buffer | undefined,
): Buffer =>
  createHash("sha256")
    .update(JSON.stringify(["v1", chain, position, key, digest.toString("hex"), linkedAt, previous?.toString("hex")]))
    .digest();

/** The next links of a chain, in the order of the entries. */
export function linkAll(
  chain: string,
  entries: readonly Pick<Entry, "key" | "digest">[],
  after: { position: number; hash: Buffer | undefined },
  linkedAt: Date,
): Link[] {
  let { hash } = after;
  return entries.map(({ key, digest }, index) => {
    const entry = { position: after.position + index + 1, key, digest, linkedAt };
    hash = hashOf(chain, entry, hash);
    return { ...entry, hash };
  });
}

export const codeOf = (sealer: Sealer, chain: string, { position, hash }: Omit<Head, "code">): string =>
  sealer.sign(["chain_heads", chain, position], hash.toString("hex"));

/** Whether the head was made by an owner of the key ring, and is the chain's newest link. */
export const isProven = (sealer: Sealer, chain: string, head: Head | undefined, newest: Link | undefined): boolean =>
  head === undefined
    ? newest === undefined
    : newest !== undefined &&
      head.position === newest.position &&
      head.hash.equals(newest.hash) &&
      sealer.isSigned(["chain_heads", chain, head.position], head.hash.toString("hex"), head.code);

/** What is wrong with a link, by its predecessor. Undefined: nothing. */
export function linkFault(
  chain: string,
  link: Link,
  previous: Link | undefined,
): "missing_links" | "forged" | undefined {
  if (link.position !== (previous?.position ?? 0) + 1) return "missing_links";
  return hashOf(chain, link, previous?.hash).equals(link.hash) ? undefined : "forged";
}
