import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import { type Contents, desiredLists, differences, readListing, type Table } from "./listing.ts";
import {
  addPeeringText,
  chainOf,
  changeText,
  closeText,
  type Opening,
  openText,
  peerChainOf,
  type Peering,
  removePeeringText,
  table,
  wholeTable,
} from "./ruleset.ts";
import { runCommand } from "../base/run-command.ts";

/** Openings by port, peerings by peer port. */
export type DesiredRules = {
  readonly openings: ReadonlyMap<number, Opening>;
  readonly peerings: ReadonlyMap<number, Peering>;
};

/** A change of the table: its text, the table afterwards, and the chain that it creates or removes. */
type RuleChange = { text: string; whole: DesiredRules; made?: string; gone?: string };

/**
 * The nftables table of the host: what is desired, what was written, and whether both are the same. Its functions must
 * not run at the same time, because each starts from the table that the one before left.
 */
export function createRuleTable({ log, lost }: { log: Logger; lost: () => void }) {
  let desired: DesiredRules = { openings: new Map(), peerings: new Map() };
  /** The rules as nft listed them after they were written; undefined while the table is not known to be ours. */
  let rules: Contents | undefined;

  const list = async (): Promise<Table> => readListing(await listRules());

  async function writeWhole(whole: DesiredRules): Promise<void> {
    await applyRules(wholeTable(...listsOf(whole)));
    const found = await list();
    const wrong = differences(found.lists, desiredLists(...listsOf(whole)));
    if (wrong.length > 0) throw new Error(`The kernel's rules differ from what was written: ${wrong.join(", ")}.`);
    rules = found.rules;
  }

  /** Applies the small change, or the whole table if it is not as we left it. If both fail, the old one stays. */
  async function write({ text, whole, made, gone }: RuleChange): Promise<void> {
    try {
      if (rules === undefined) throw new Error("The contents of the firewall table are not known.");
      await applyRules(text);
      if (gone !== undefined) rules.delete(gone);
      if (made !== undefined) await learnRules(made, rules);
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

  async function closeAll(because: unknown): Promise<void> {
    rules = undefined;
    lost();
    log.error({ err: because }, "the firewall table cannot be verified; closing all ports");
    await applyRules(wholeTable([], [])).catch((error: unknown) =>
      log.fatal({ err: error }, "the ports could not be closed"),
    );
  }

  return {
    desired: (): DesiredRules => desired,
    /** Whether the rules in force are those that were written. */
    isKnown: (): boolean => rules !== undefined,
    async start(first: DesiredRules): Promise<void> {
      desired = first;
      await writeWhole(desired).catch(closeAll);
    },
    async add(opening: Opening): Promise<void> {
      const before = desired.openings.get(opening.port);
      if (rules === undefined || !isDeepStrictEqual(before, opening)) await write(additionOf(opening, desired));
    },
    remove: (opening: Opening): Promise<void> => write(removalOf(opening, desired)),
    async addPeering(peering: Peering): Promise<void> {
      const before = desired.peerings.get(peering.port);
      if (rules === undefined || !isDeepStrictEqual(before, peering)) await write(peeringAdditionOf(peering, desired));
    },
    removePeering: (peering: Peering): Promise<void> => write(peeringRemovalOf(peering, desired)),
    /** Writes the table again if somebody changed it. If that fails, all ports are closed. */
    async verify(): Promise<void> {
      const wrong = await list().then(
        (found) => [
          ...differences(found.lists, desiredLists(...listsOf(desired))),
          ...(rules === undefined ? ["rules"] : differences(found.rules, rules)),
        ],
        (error: unknown) => [String(error)],
      );
      if (wrong.length === 0) return;
      log.error({ wrong: wrong.slice(0, 20) }, "the firewall table differs from what was written; writing it again");
      await writeWhole(desired).catch(closeAll);
    },
  };
}

function additionOf(opening: Opening, desired: DesiredRules): RuleChange {
  const { port } = opening;
  const before = desired.openings.get(port);
  const whole = { ...desired, openings: new Map(desired.openings).set(port, opening) };
  if (before === undefined) return { text: openText(opening), whole, made: chainOf(port) };
  if (isDeepStrictEqual({ ...before, sources: opening.sources }, opening)) return { text: changeText(opening), whole };
  return { text: closeText(before) + openText(opening), whole, made: chainOf(port) };
}

function removalOf(opening: Opening, desired: DesiredRules): RuleChange {
  const openings = new Map(desired.openings);
  openings.delete(opening.port);
  return { text: closeText(opening), whole: { ...desired, openings }, gone: chainOf(opening.port) };
}

function peeringAdditionOf(peering: Peering, desired: DesiredRules): RuleChange {
  const { port } = peering;
  const before = desired.peerings.get(port);
  const text = `${before === undefined ? "" : removePeeringText(before)}${addPeeringText(peering)}`;
  const whole = { ...desired, peerings: new Map(desired.peerings).set(port, peering) };
  return { text, whole, made: peerChainOf(port) };
}

function peeringRemovalOf(peering: Peering, desired: DesiredRules): RuleChange {
  const peerings = new Map(desired.peerings);
  peerings.delete(peering.port);
  return { text: removePeeringText(peering), whole: { ...desired, peerings }, gone: peerChainOf(peering.port) };
}

const listsOf = ({ openings, peerings }: DesiredRules): [Opening[], Peering[]] => [
  [...openings.values()],
  [...peerings.values()],
];

/** One kernel transaction: all or nothing, even if nft dies. */
async function applyRules(text: string): Promise<void> {
  await runCommand("nft", ["-f", "-"], text);
}

/** The kernel's table, with all elements, as nft's JSON. */
const listRules = (): Promise<string> => runCommand("nft", ["--json", "list", "table", ...table.split(" ")]);
