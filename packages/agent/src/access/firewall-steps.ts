import { hasProxy, type Proxies } from "../proxy/proxies.ts";
import { isClusterFileCurrent, writeClusterFile } from "../gatekeeper/cluster-file.ts";
import type { NodeContext } from "../node/node-context.ts";
import type { StepTable } from "../base/run-steps.ts";
import type { Firewall } from "../firewall/firewall.ts";
import { endSessions } from "../firewall/end-sessions.ts";
import type { Sources } from "../firewall/sources.ts";

export type AccessDeps = { firewall: Firewall; proxies: Proxies };
export type AccessContext = NodeContext & AccessDeps;

/** For a running node of which only the allow list changed: nothing else is touched. */
export const firewallSteps: StepTable<AccessContext> = {
  name: "firewall",
  steps: [{ name: "apply", percent: 100, run: applyFirewall }],
};

/** First the kernel, then the sessions, so that a disconnected client cannot reconnect. */
export async function applyFirewall(context: AccessContext): Promise<void> {
  const { firewall, spec, log } = context;
  await connectPeers(context);
  const ended = await endOthersSessions(context, await firewall.open(spec));
  if (ended > 0) log.info({ ended }, "sessions from addresses that are not on the allow list were ended");
  firewall.vouchFor(spec);
}

/** The allow list is in force, peers are allowed, and a member's proxy has the right servers. */
export const isFirewallApplied = async ({ firewall, proxies, host, spec }: AccessContext): Promise<boolean> =>
  firewall.isVouchedFor(spec) &&
  firewall.allowsPeers(spec) &&
  (await isClusterFileCurrent(host, spec)) &&
  (await proxies.isRight(spec));

/** The gatekeeper first: it refuses traffic to a member that it does not know, and to one that was replaced. */
async function connectPeers({ firewall, proxies, host, spec }: AccessContext): Promise<void> {
  if (spec.cluster === undefined) return;
  await writeClusterFile(host, spec);
  await firewall.allowPeers(spec);
  await proxies.apply(spec);
}

function endOthersSessions({ proxies, spec, paths }: AccessContext, sources: Sources): Promise<number> {
  if (spec.cluster === undefined) return endSessions(paths.socket, sources);
  // A member's clients connect to its proxy; without a proxy their sessions have ended.
  return hasProxy(spec) ? proxies.endSessions(spec, sources) : Promise.resolve(0);
}
