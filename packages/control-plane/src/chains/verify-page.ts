import { createHash } from "node:crypto";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { type Anchor, anchorFault, anchorOf } from "./anchor.ts";
import { type Chain, chainNames, isProven, linkFault } from "./chain.ts";
import {
  deletedKeys,
  findHead,
  findLink,
  inSnapshot,
  linksAfter,
  newestLink,
  rowsAfter,
  useOwnFunctions,
  waitingRows,
} from "./chain-store.ts";

/** `links`: each follows from the one before it, and its row exists. `rows`: each is linked once, as it is now. */
type Place =
  | { chain: Chain; phase: "links"; after: number }
  | { chain: Chain; phase: "rows"; after: readonly number[] };

export type ChainFault = {
  fault: "changed" | "cut" | "deleted" | "forged" | "missing_links" | "repeated" | "replaced" | "unlinked" | "unproven";
  /** The primary key of the row. */
  row: readonly number[] | undefined;
  link: { position: number; linkedAt: Date } | undefined;
};

export type VerifiedPage = {
  chain: Chain;
  links: number;
  rows: number;
  from: Date | undefined;
  to: Date | undefined;
  waiting: number;
  faults: ChainFault[];
  /** Of the whole chain, with its last page. */
  anchor: string | undefined;
  next: string | undefined;
};
type Found = Pick<VerifiedPage, "faults"> & Partial<VerifiedPage> & { following: Place | undefined };

const PAGE = 2000;

type Asked = { cursor: string | undefined; anchors: ReadonlyMap<string, Anchor>; most?: number };

/**
 * Verifies the next part of the chains, in one state of the database. A page is a short transaction, so that
 * verification of any length holds nothing up; rows that are written meanwhile are no fault.
 */
export const verifyPage = ({ db, sealer }: { db: Db; sealer: Sealer }, asked: Asked): Promise<VerifiedPage> =>
  inSnapshot(db, (tx) => verifyIn(tx, sealer, asked));

export async function verifyIn(tx: Tx, sealer: Sealer, { cursor, anchors, most = PAGE }: Asked): Promise<VerifiedPage> {
  await useOwnFunctions(tx);
  const place = placeOf(cursor);
  const { following, ...found } =
    place.phase === "links"
      ? await verifyLinks(tx, sealer, place, { anchor: anchors.get(place.chain), most })
      : await verifyRows(tx, place, most);
  const { chain } = place;
  const nothing = { links: 0, rows: 0, waiting: 0, from: undefined, to: undefined, anchor: undefined };
  return { chain, ...nothing, next: following && cursorOf(following), ...found };
}

async function verifyLinks(
  tx: Tx,
  sealer: Sealer,
  { chain, after }: { chain: Chain; after: number },
  { anchor, most }: { anchor: Anchor | undefined; most: number },
): Promise<Found> {
  const page = await linksAfter(tx, chain, after, most);
  const deleted = await deletedKeys(
    tx,
    chain,
    page.map(({ key }) => key),
  );
  let previous = after === 0 ? undefined : await findLink(tx, chain, after);
  const faults = after === 0 ? await anchorFaults(tx, chain, anchor) : [];
  for (const link of page) {
    const fault = linkFault(chain, link, previous) ?? (deleted.has(nameOf(link.key)) ? "deleted" : undefined);
    if (fault !== undefined) faults.push({ fault, row: link.key, link });
    previous = link;
  }
  const last = page.at(-1);
  const found = { links: page.length, from: page[0]?.linkedAt, to: last?.linkedAt, faults };
  if (last !== undefined && page.length === most)
    return { ...found, following: { chain, phase: "links", after: last.position } };
  if (!isProven(sealer, chain, await findHead(tx, chain), previous))
    faults.push({ fault: "unproven", row: undefined, link: previous });
  return { ...found, following: { chain, phase: "rows", after: [] } };
}

async function anchorFaults(tx: Tx, chain: Chain, anchor: Anchor | undefined): Promise<ChainFault[]> {
  if (anchor === undefined) return [];
  const link = await findLink(tx, chain, anchor.position);
  const fault = anchorFault(anchor, link?.hash);
  return fault === undefined ? [] : [{ fault, row: link?.key, link: link ?? (await newestLink(tx, chain)) }];
}

async function verifyRows(
  tx: Tx,
  { chain, after }: { chain: Chain; after: readonly number[] },
  most: number,
): Promise<Found> {
  const page = await rowsAfter(tx, chain, after, most);
  const faults = page.flatMap(({ key, content, linked, pending }): ChainFault[] => {
    const fault = rowFault(content, [...linked, ...pending]);
    return fault === undefined ? [] : [{ fault, row: key, link: undefined }];
  });
  const last = page.at(-1);
  if (last !== undefined && page.length === most)
    return { rows: page.length, faults, following: { chain, phase: "rows", after: last.key } };
  const { keys, count } = await waitingRows(tx, chain, most);
  for (const name of await deletedKeys(tx, chain, keys))
    faults.push({ fault: "deleted", row: keyOf(name), link: undefined });
  const newest = await newestLink(tx, chain);
  const nextChain = chainNames[chainNames.indexOf(chain) + 1];
  return {
    rows: page.length,
    waiting: count,
    faults,
    anchor: newest && anchorOf(chain, newest),
    following: nextChain && { chain: nextChain, phase: "links", after: 0 },
  };
}

function rowFault(content: string, noted: readonly Buffer[]): "changed" | "repeated" | "unlinked" | undefined {
  if (noted.length === 0) return "unlinked";
  const digest = createHash("sha256").update(content).digest();
  if (!noted.every((each) => each.equals(digest))) return "changed";
  return noted.length > 1 ? "repeated" : undefined;
}

const nameOf = (key: readonly number[]): string => key.join("/");
const keyOf = (name: string): number[] => name.split("/").map(Number);

/** `ledger:rows:7/12`. It passes through the caller. */
const cursorOf = ({ chain, phase, after }: Place): string =>
  [chain, phase, typeof after === "number" ? after : nameOf(after)].join(":");

function placeOf(cursor: string | undefined): Place {
  const [name, phase, after = ""] = (cursor ?? "").split(":");
  const chain = chainNames.find((each) => each === name) ?? chainNames[0];
  if (chain === undefined) throw new Error("There is no chain.");
  return phase === "rows"
    ? { chain, phase, after: after === "" ? [] : keyOf(after) }
    : { chain, phase: "links", after: Number(after) };
}
