import { serverNameOf, backends } from "../proxy/haproxy-config.ts";
import { queryProxy } from "../proxy/runtime-socket.ts";
import type { ClusterFile } from "./cluster-file.ts";
import { mayBePrimary, mayServeReads, type Views } from "./may-be-primary.ts";

/** By way and slot: whether clients may be led there. */
export type Verdicts = ReadonlyMap<string, boolean>;

export const verdictsOf = ({ members }: Pick<ClusterFile, "members">, views: Views): Verdicts =>
  new Map(
    backends.flatMap((backend) =>
      members.map(({ node, ordinal }) => [
        `${backend}/${serverNameOf(ordinal)}`,
        backend === "primary" ? mayBePrimary(node, views) : mayServeReads(node, views),
      ]),
    ),
  );

/** What is no more before what is now: nobody is let through while two members are up. */
export const changeCommand = (before: Verdicts, after: Verdicts): string =>
  [...after]
    .filter(([server, is]) => before.get(server) !== is)
    .toSorted(([, a], [, b]) => Number(a) - Number(b))
    .map(([server, is]) => `set server ${server} agent ${is ? "up" : "down"}`)
    .join("; ");

/** A change, at once; what was told. A gate that did not hear of it asks within a second or two. */
export async function applyVerdicts(socket: string, before: Verdicts, after: Verdicts): Promise<string> {
  const command = changeCommand(before, after);
  if (command !== "") await queryProxy(socket, command).catch(() => {});
  return command;
}
