import type { Head } from "./chain.ts";

/** The newest link of a chain at some time, as it was stored outside of the database. */
export type Anchor = Pick<Head, "position" | "hash">;

/** `audit:120:…`, one for each chain that has links, with a space between. */
export const anchorOf = (chain: string, { position, hash }: Anchor): string =>
  [chain, position, hash.toString("base64url")].join(":");

export function readAnchors(text: string): Map<string, Anchor> {
  const anchors = text.split(" ").map((each) => each.split(":"));
  return new Map(
    anchors.map(([chain = "", position, hash = ""]) => [
      chain,
      { position: Number(position), hash: Buffer.from(hash, "base64url") },
    ]),
  );
}

/** What is wrong, by the link that now has the position of the anchor. */
export function anchorFault(anchor: Anchor | undefined, now: Buffer | undefined): "cut" | "replaced" | undefined {
  if (anchor === undefined) return undefined;
  if (now === undefined) return "cut";
  return now.equals(anchor.hash) ? undefined : "replaced";
}
