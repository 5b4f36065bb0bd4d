import { request } from "undici";
import { MemberView } from "@moorage/contract/agent";
import { z } from "zod";

/** Everything that a host knows of one cluster: its own member's view and the last seen views of the others. */
export const ClusterViews = z.object({
  own: MemberView,
  others: z.array(MemberView),
  /** The member that this host's proxy forwards to, by the rule; undefined: none. */
  primary: z.string().optional(),
});
export type ClusterViews = z.output<typeof ClusterViews>;

const answerWithinMs = 1000;

export class GatekeeperAway extends Error {
  override readonly name = "GatekeeperAway";
}

/** The agent's client of this host's gatekeeper. Fails while the gatekeeper is down or does not know the node. */
export function connectGatekeeper(checkPort: number) {
  return {
    async views(node: string): Promise<ClusterViews> {
      try {
        const { statusCode, body } = await request(`http://127.0.0.1:${checkPort}/views/${node}`, {
          signal: AbortSignal.timeout(answerWithinMs),
        });
        const text = await body.text();
        if (statusCode !== 200) throw new Error(`The gatekeeper answered ${statusCode}.`);
        return ClusterViews.parse(JSON.parse(text));
      } catch (cause) {
        throw new GatekeeperAway(`The gatekeeper is unreachable: ${String(cause)}`, { cause });
      }
    },
  };
}
