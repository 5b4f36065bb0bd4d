import { hasProxy } from "../proxy/proxies.ts";
import { isClusterFileCurrent, writeClusterFile } from "../gatekeeper/cluster-file.ts";
import type { NodeContext } from "../node-context.ts";
import type { StepTable } from "../run-steps.ts";
import { endSessions } from "./end-sessions.ts";
import type { Sources } from "./sources.ts";

/** For a node that serves, and of which only the list changed: nothing else of it is touched. */
export const firewallSteps: StepTable = {
  name: "firewall",
  steps: [{ name: "apply", percent: 100, run: applyFirewall }],
};

/** First the kernel, then the sessions: whoever is thrown out cannot come in again. */
export async function applyFirewall(context: NodeContext): Promise<void> {
  const { firewall, spec, log } = context;
  await connectPeers(context);
  const ended = await endOthersSessions(context, await firewall.open(spec));
  if (ended > 0) log.info({ ended }, "sessions of sources that are not on the list were ended");
  firewall.vouchFor(spec);
}

/** The list is in force and its peers are let in; a member's gate leads to the members that it should. */
export const isFirewallApplied = async ({ firewall, proxies, host, spec }: NodeContext): Promise<boolean> =>
  firewall.isVouchedFor(spec) &&
  firewall.allowsPeers(spec) &&
  (await isClusterFileCurrent(host, spec)) &&
  (await proxies.isRight(spec));

/** The gatekeeper first: it says no to a member of which it knows nothing, and leads nobody to one that was replaced. */
async function connectPeers({ firewall, proxies, host, spec }: NodeContext): Promise<void> {
  if (spec.cluster === undefined) return;
  await writeClusterFile(host, spec);
  await firewall.allowPeers(spec);
  await proxies.apply(spec);
}

function endOthersSessions({ proxies, spec, paths }: NodeContext, sources: Sources): Promise<number> {
  if (spec.cluster === undefined) return endSessions(paths.socket, sources);
  // A member's are with its gate, and have ended with it.
  return hasProxy(spec) ? proxies.endSessions(spec, sources) : Promise.resolve(0);
}
