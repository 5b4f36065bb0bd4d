import { setInterval as every } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { type Contents, differences, readListing, type Table, desiredLists } from "./listing.ts";
import { applyRules, listRules } from "./nft.ts";
import { openingsOf, peeringOf } from "./openings.ts";
import {
  chainOf,
  changeText,
  closeText,
  addPeeringText,
  type Opening,
  openText,
  removePeeringText,
  peerChainOf,
  type Peering,
  wholeTable,
} from "./ruleset.ts";
import { readSources, type Sources } from "./sources.ts";

/** Including the time for a check and a repair, a manual change is reverted within 10 s. */
const verifyEveryMs = 8000;

/**
 * The host's firewall: one nftables table, written only from specs on the disk and verified periodically. If the table
 * cannot be verified, all ports are closed.
 */
export function createFirewall({ log }: { log: Logger }) {
  const stop = new AbortController();
  /** The desired table: openings by port, peerings by peer port. */
  let desired: DesiredRules = { openings: new Map(), peerings: new Map() };
  /** The rules as nft listed them after they were written; undefined while the table is not known to be ours. */
  let rules: Contents | undefined;
  /** Specs whose rules are in force and whose disallowed sessions have ended. */
  const vouched = new Map<string, NodeSpec>();

  // Two concurrent writers would each start from a table that the other is changing.
  let last: Promise<unknown> = Promise.resolve();
  function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  }

  const list = async (): Promise<Table> => readListing(await listRules());

  async function writeWhole(whole: DesiredRules): Promise<void> {
    await applyRules(wholeTable(...listsOf(whole)));
    const found = await list();
    const wrong = differences(found.lists, desiredLists(...listsOf(whole)));
    if (wrong.length > 0) throw new Error(`The kernel's rules differ from what was written: ${wrong.join(", ")}.`);
    rules = found.rules;
  }

  /** Applies the small change, or the whole table if it is not as we left it. If both fail, the old one stays. */
  async function write(
    change: string,
    whole: DesiredRules,
    chain: { made?: string; gone?: string } = {},
  ): Promise<void> {
    try {
      if (rules === undefined) throw new Error("The contents of the firewall table are not known.");
      await applyRules(change);
      if (chain.gone !== undefined) rules.delete(chain.gone);
      if (chain.made !== undefined) await learnRules(chain.made, rules);
    } catch (error) {
      log.warn({ error: String(error) }, "a change of the firewall failed; writing the whole table");
      rules = undefined;
      await writeWhole(whole);
    }
    desired = whole;
  }

  /** Only for the chain just made: the other chains must still be as they were written. */
  async function learnRules(chain: string, known: Contents): Promise<void> {
    const made = (await list()).rules.get(chain);
    if (made === undefined) throw new Error(`There is no chain ${chain}.`);
    known.set(chain, made);
  }

  async function removeOpening(opening: Opening): Promise<void> {
    const openings = new Map(desired.openings);
    openings.delete(opening.port);
    await write(closeText(opening), { ...desired, openings }, { gone: chainOf(opening.port) });
  }

  async function addOpening(opening: Opening): Promise<void> {
    const { port } = opening;
    const before = desired.openings.get(port);
    if (rules !== undefined && isDeepStrictEqual(before, opening)) return;
    const whole = { ...desired, openings: new Map(desired.openings).set(port, opening) };
    if (before === undefined) return write(openText(opening), whole, { made: chainOf(port) });
    if (isDeepStrictEqual({ ...before, sources: opening.sources }, opening)) return write(changeText(opening), whole);
    return write(closeText(before) + openText(opening), whole, { made: chainOf(port) });
  }

  async function addPeering(peering: Peering): Promise<void> {
    const { port } = peering;
    const before = desired.peerings.get(port);
    if (rules !== undefined && isDeepStrictEqual(before, peering)) return;
    const whole = { ...desired, peerings: new Map(desired.peerings).set(port, peering) };
    const change = `${before === undefined ? "" : removePeeringText(before)}${addPeeringText(peering)}`;
    await write(change, whole, { made: peerChainOf(port) });
  }

  async function removePeering(peering: Peering): Promise<void> {
    const peerings = new Map(desired.peerings);
    peerings.delete(peering.port);
    await write(removePeeringText(peering), { ...desired, peerings }, { gone: peerChainOf(peering.port) });
  }

  async function verify(): Promise<void> {
    const wrong = await list().then(
      (found) => [
        ...differences(found.lists, desiredLists(...listsOf(desired))),
        ...(rules === undefined ? ["rules"] : differences(found.rules, rules)),
      ],
      (error: unknown) => [String(error)],
    );
    if (wrong.length === 0) return;
    log.error({ wrong: wrong.slice(0, 20) }, "the firewall table differs from what was written; writing it again");
    try {
      await writeWhole(desired);
    } catch (error) {
      await closeAll(error);
    }
  }

  /** Every node then reports that its firewall is not applied, because nothing is vouched for any more. */
  async function closeAll(because: unknown): Promise<void> {
    rules = undefined;
    vouched.clear();
    log.error({ err: because }, "the firewall table cannot be verified; closing all ports");
    await applyRules(wholeTable([], [])).catch((error: unknown) =>
      log.fatal({ err: error }, "the ports could not be closed"),
    );
  }

  async function keepVerifying(): Promise<void> {
    try {
      for await (const _ of every(verifyEveryMs, undefined, { signal: stop.signal })) await oneAtATime(verify);
    } catch {
      // closed
    }
  }

  let verifying: Promise<void> | undefined;
  return {
    /** Works from the disk alone. A node with a held tombstone keeps serving, unless a live node has the same port. */
    async start(specs: readonly NodeSpec[]): Promise<void> {
      for (const spec of specs.toSorted((a, b) => Number(!a.tombstone) - Number(!b.tombstone))) {
        try {
          for (const opening of openingsOf(spec)) desired.openings.set(opening.port, opening);
          const peering = peeringOf(spec);
          if (peering !== undefined) desired.peerings.set(peering.port, peering);
        } catch (error) {
          log.error({ node: spec.node, error: String(error) }, "the ports of a node stay closed");
        }
      }
      await oneAtATime(() => writeWhole(desired).catch(closeAll));
      verifying = keepVerifying();
    },
    /** Applies the spec to the table; the calling step vouches for the spec once all of its work is done. */
    async open(spec: NodeSpec): Promise<Sources> {
      const ofNode = openingsOf(spec);
      await oneAtATime(async () => {
        for (const opening of desired.openings.values())
          if (opening.node === spec.node && ofNode.every(({ port }) => port !== opening.port))
            await removeOpening(opening);
        for (const opening of ofNode) await addOpening(opening);
      });
      return ofNode[0]?.sources ?? readSources([]);
    },
    async close({ node }: NodeSpec): Promise<void> {
      vouched.delete(node);
      await oneAtATime(async () => {
        for (const opening of desired.openings.values()) if (opening.node === node) await removeOpening(opening);
      });
    },
    /** Lets a member and its peers reach each other, and nobody else. */
    async allowPeers(spec: NodeSpec): Promise<void> {
      const peering = peeringOf(spec);
      if (peering !== undefined) await oneAtATime(() => addPeering(peering));
    },
    allowsPeers(spec: NodeSpec): boolean {
      const peering = peeringOf(spec);
      return (
        peering === undefined || (rules !== undefined && isDeepStrictEqual(desired.peerings.get(peering.port), peering))
      );
    },
    async disallowPeers({ node }: NodeSpec): Promise<void> {
      await oneAtATime(async () => {
        for (const peering of desired.peerings.values()) if (peering.node === node) await removePeering(peering);
      });
    },
    vouchFor(spec: NodeSpec): void {
      if (rules !== undefined) vouched.set(spec.node, spec);
    },
    isVouchedFor(spec: NodeSpec): boolean {
      const known = vouched.get(spec.node);
      return known !== undefined && isDeepStrictEqual(vouchedParts(known), vouchedParts(spec));
    },
    async stop(): Promise<void> {
      stop.abort();
      await verifying;
      await last;
    },
  };
}
export type Firewall = ReturnType<typeof createFirewall>;

type DesiredRules = { openings: Map<number, Opening>; peerings: Map<number, Peering> };
const listsOf = ({ openings, peerings }: DesiredRules): [Opening[], Peering[]] => [
  [...openings.values()],
  [...peerings.values()],
];

const vouchedParts = ({ network, firewall, power, cluster }: NodeSpec) => [network, firewall, power, cluster?.members];
