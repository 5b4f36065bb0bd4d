import { setInterval as every } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { address6Of } from "../network.ts";
import { type Contents, differences, readListing, type Table, wantedLists } from "./listing.ts";
import { applyRules, listRules } from "./nft.ts";
import { changeText, closeText, gatePorts, type Opening, openText, wholeTable } from "./ruleset.ts";
import { readSources, type Sources } from "./sources.ts";

/** With the time that a look and a mending take, what was changed by hand is right again within 10 s. */
const verifyEveryMs = 8000;

/**
 * The host's gates: one table of the kernel, written from specs that are on the disk and from nothing else, and looked
 * at again and again. What cannot be vouched for is closed.
 */
export function createGate({ log }: { log: Logger }) {
  const stop = new AbortController();
  /** What the table is to hold, by port. */
  let openings = new Map<number, Opening>();
  /** The rules as nft told them when they were written; undefined while the table is not known to be ours. */
  let rules: Contents | undefined;
  /** Specs whose gate is as they say, sessions and all. */
  const vouched = new Map<string, NodeSpec>();

  // Two writers would each work from a table that the other is changing.
  let last: Promise<unknown> = Promise.resolve();
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  }

  const list = async (): Promise<Table> => readListing(await listRules());

  async function writeWhole(wanted: ReadonlyMap<number, Opening>): Promise<void> {
    await applyRules(wholeTable([...wanted.values()]));
    const found = await list();
    const wrong = differences(found.lists, wantedLists([...wanted.values()]));
    if (wrong.length > 0) throw new Error(`The kernel does not hold what was written: ${wrong.join(", ")}.`);
    rules = found.rules;
  }

  /** The small change, or the whole table if it is not there as we left it. If both fail, the old one is in force. */
  async function write(change: string, wanted: Map<number, Opening>, made?: number): Promise<void> {
    try {
      if (rules === undefined) throw new Error("The table is not known to be ours.");
      await applyRules(change);
      if (made !== undefined) await learnRules(`db_${made}`, rules);
    } catch (error) {
      log.warn({ error: String(error) }, "writing the whole gate table");
      rules = undefined;
      await writeWhole(wanted);
    }
    openings = wanted;
  }

  /** Only of the chain that was just made: the others must go on being what they were. */
  async function learnRules(chain: string, known: Contents): Promise<void> {
    const made = (await list()).rules.get(chain);
    if (made === undefined) throw new Error(`There is no chain ${chain}.`);
    known.set(chain, made);
  }

  async function shut(port: number): Promise<void> {
    if (!openings.has(port)) return;
    const wanted = new Map(openings);
    wanted.delete(port);
    await write(closeText(port), wanted);
    rules?.delete(`db_${port}`);
  }

  async function admit(opening: Opening): Promise<void> {
    const before = openings.get(opening.port);
    if (rules !== undefined && isDeepStrictEqual(before, opening)) return;
    const wanted = new Map(openings).set(opening.port, opening);
    if (before === undefined) return write(openText(opening), wanted, opening.port);
    if (isDeepStrictEqual({ ...before, sources: opening.sources }, opening)) return write(changeText(opening), wanted);
    return write(closeText(opening.port) + openText(opening), wanted, opening.port);
  }

  async function verify(): Promise<void> {
    const wrong = await list().then(
      (found) => [
        ...differences(found.lists, wantedLists([...openings.values()])),
        ...(rules === undefined ? ["rules"] : differences(found.rules, rules)),
      ],
      (error: unknown) => [String(error)],
    );
    if (wrong.length === 0) return;
    log.error({ wrong: wrong.slice(0, 20) }, "the gate table is not as it was written; writing it again");
    try {
      await writeWhole(openings);
    } catch (error) {
      await closeAll(error);
    }
  }

  /** Nothing is vouched for any more, so every node's own report says that its gate is not as it should be. */
  async function closeAll(because: unknown): Promise<void> {
    rules = undefined;
    vouched.clear();
    log.error({ err: because }, "the gates cannot be vouched for; closing all of them");
    await applyRules(wholeTable([])).catch((error: unknown) => log.fatal({ err: error }, "the gates cannot be closed"));
  }

  async function keepVerifying(): Promise<void> {
    try {
      for await (const _ of every(verifyEveryMs, undefined, { signal: stop.signal })) await alone(verify);
    } catch {
      // closed
    }
  }

  let verifying: Promise<void> | undefined;
  return {
    /** From the disk alone. A node that waits for its deletion serves until then; a living one has its port before it. */
    async start(specs: readonly NodeSpec[]): Promise<void> {
      for (const spec of specs.toSorted((a, b) => Number(!a.tombstone) - Number(!b.tombstone))) {
        try {
          const opening = openingOf(spec);
          if (opening !== undefined) openings.set(opening.port, opening);
        } catch (error) {
          log.error({ node: spec.node, error: String(error) }, "a gate stays closed");
        }
      }
      await alone(() => writeWhole(openings).catch(closeAll));
      verifying = keepVerifying();
    },
    /** Makes the table as the spec says; the step that calls it vouches when all of its work is done. */
    async open(spec: NodeSpec): Promise<Sources> {
      const opening = openingOf(spec);
      await alone(async () => {
        for (const { node, port } of openings.values())
          if (node === spec.node && port !== opening?.port) await shut(port);
        if (opening !== undefined) await admit(opening);
      });
      return opening?.sources ?? readSources([]);
    },
    async close({ node, network }: NodeSpec): Promise<void> {
      vouched.delete(node);
      await alone(async () => {
        if (openings.get(network.port)?.node === node) await shut(network.port);
      });
    },
    vouchFor(spec: NodeSpec): void {
      if (rules !== undefined) vouched.set(spec.node, spec);
    },
    isVouchedFor({ node, network, gate, power }: NodeSpec): boolean {
      const known = vouched.get(node);
      return known !== undefined && isDeepStrictEqual([known.network, known.gate, known.power], [network, gate, power]);
    },
    async stop(): Promise<void> {
      stop.abort();
      await verifying;
      await last;
    },
  };
}
export type Gate = ReturnType<typeof createGate>;

function openingOf({ node, network: { address, port }, gate, power }: NodeSpec): Opening | undefined {
  if (gate === undefined || power === "off") return undefined;
  if (port < gatePorts.first || port > gatePorts.last)
    throw new Error(`Port ${port} is not one of the gates' (${gatePorts.first} to ${gatePorts.last}).`);
  return { node, port, address, address6: address6Of(address), sources: readSources(gate.sources) };
}
