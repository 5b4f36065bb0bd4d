import { mayBePrimary, mayServeReads, type Views } from "@moorage/contract/agent";
import { serverNameOf, backends } from "../proxy/haproxy-config.ts";
import { queryProxy } from "../proxy/runtime-socket.ts";
import type { ClusterFile } from "./cluster-file.ts";

/** By kind of access and proxy slot: whether clients may be forwarded to that server. */
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

/** Servers go down before others come up, so that no connection is forwarded while two primaries are up. */
export const changeCommand = (before: Verdicts, after: Verdicts): string =>
  [...after]
    .filter(([server, is]) => before.get(server) !== is)
    .toSorted(([, a], [, b]) => Number(a) - Number(b))
    .map(([server, is]) => `set server ${server} agent ${is ? "up" : "down"}`)
    .join("; ");

/** Applies a change to the proxy at once and returns the command. A proxy that missed it polls within 1 to 2 s. */
export async function applyVerdicts(socket: string, before: Verdicts, after: Verdicts): Promise<string> {
  const command = changeCommand(before, after);
  if (command !== "") await queryProxy(socket, command).catch(() => {});
  return command;
}
