import { slotOf, ways } from "../cluster-gate/gate-config.ts";
import { askGate } from "../cluster-gate/runtime-socket.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { mayLead, mayRead, type Views } from "./may-lead.ts";

/** By way and slot: whether clients may be led there. */
export type Verdicts = ReadonlyMap<string, boolean>;

export const verdictsOf = ({ members }: Pick<ClusterFile, "members">, views: Views): Verdicts =>
  new Map(
    ways.flatMap((way) =>
      members.map(({ node, ordinal }) => [
        `${way}/${slotOf(ordinal)}`,
        way === "lead" ? mayLead(node, views) : mayRead(node, views),
      ]),
    ),
  );

/** What is no more before what is now: nobody is let through while two members are up. */
export const changeCommand = (before: Verdicts, after: Verdicts): string =>
  [...after]
    .filter(([slot, is]) => before.get(slot) !== is)
    .toSorted(([, a], [, b]) => Number(a) - Number(b))
    .map(([slot, is]) => `set server ${slot} agent ${is ? "up" : "down"}`)
    .join("; ");

/** A change, at once; what was told. A gate that did not hear of it asks within a second or two. */
export async function tellChange(socket: string, before: Verdicts, after: Verdicts): Promise<string> {
  const command = changeCommand(before, after);
  if (command !== "") await askGate(socket, command).catch(() => {});
  return command;
}
