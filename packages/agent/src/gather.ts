import { hasBaseline } from "./baseline-steps.ts";
import { imageMb } from "./disk/disk-decision.ts";
import { isGrown } from "./disk/grow-volume.ts";
import { readIfThere } from "./durable-file.ts";
import { type KeyringState, keyringState } from "./encryption/keyring.ts";
import { takesPart } from "./cluster/gather-group.ts";
import { credentialsOf } from "./cluster/group-sql.ts";
import { desiredContainer } from "./container.ts";
import { isFirewallApplied } from "./firewall/firewall-steps.ts";
import { isMountPoint, mountedFile } from "./mounts.ts";
import { configFile } from "./mysql/config-file.ts";
import { isInhabited, networkId } from "./network.ts";
import { type CertificateState, certificateState } from "./node-certificate.ts";
import type { NodeContext } from "./node-context.ts";
import { appliedCredentials } from "./node-state.ts";
import { nodeLabel, type Podman, specLabel } from "./podman.ts";
import { discardedOrdinals, volumesOf } from "./timelines.ts";
import { exists } from "./volume.ts";

export type SeenContainer = { id: string; running: boolean; hash: string | undefined };

/** The observed state of a node, whoever created it. */
export type Facts = {
  /** The host has a volume of the node, of any timeline. */
  image: boolean;
  /** The volume of the desired timeline is mounted; `otherVolume`: that of another timeline is. */
  volume: boolean;
  otherVolume: boolean;
  /** The host has volumes of timelines that are no longer kept. */
  discarded: boolean;
  data: boolean;
  network: boolean;
  container: "absent" | "stopped" | "running";
  /** The container is the one that the spec describes. */
  current: boolean;
  credentials: number;
  certificate: CertificateState;
  keyring: KeyringState;
  /** The mounted file system has the size that the plan requires. */
  grown: boolean;
  /** The volume for temporary files of an encrypted node is mounted. */
  temporary: boolean;
  /** Exactly the sources that the spec lists can reach the node. */
  firewall: boolean;
  /** The member is in its group and nothing is left to do; always true for a single node. */
  takesPart: boolean;
  /** The server has the settings, rights and procedures of this release. */
  baseline: boolean;
};

export async function listContainers({ client }: Podman): Promise<Map<string, SeenContainer>> {
  const containers = await client.listContainers({ all: true, filters: { label: [nodeLabel] } });
  return new Map(
    containers.map(({ Id, State, Labels }) => [
      Labels[nodeLabel] ?? Id,
      { id: Id, running: State === "running", hash: Labels[specLabel] },
    ]),
  );
}

export async function gather(context: NodeContext, seen: SeenContainer | undefined): Promise<Facts> {
  const { paths } = context;
  const desired = await containerOf(context);
  const mounted = await mountedFile(paths.volume);
  const volumes = await volumesOf(context.host, context.spec.node);
  return {
    image: volumes.length > 0,
    volume: mounted === paths.image,
    otherVolume: mounted !== undefined && mounted !== paths.image,
    discarded: discardedOrdinals(context.spec, volumes).length > 0,
    data: await exists(paths.data),
    network: (await networkId(context.network)) !== undefined,
    container:
      seen === undefined ? "absent" : seen.running && (await isInhabited(context.network)) ? "running" : "stopped",
    current: desired !== undefined && seen?.hash === desired.hash,
    credentials: await credentials(context),
    certificate: await certificateState(context),
    keyring: await keyringState(context),
    grown: mounted !== paths.image || (await isGrown(paths.volume, imageMb(context.spec.resources.disk_mb))),
    temporary: !context.spec.database.encrypted || (await isMountPoint(paths.temporary.folder)),
    firewall: await isFirewallApplied(context),
    takesPart: await takesPart(context),
    baseline: await hasBaseline(context),
  };
}

/** A member received its credentials with its data. */
const credentials = ({ spec, paths }: NodeContext): Promise<number> =>
  spec.cluster === undefined ? appliedCredentials(paths) : credentialsOf(paths.socket, spec).catch(() => 0);

export async function configOf({ paths, spec }: NodeContext): Promise<string | undefined> {
  const fixed = await readIfThere(paths.fixedConfig);
  return fixed === undefined ? undefined : configFile(fixed, spec);
}

/** Undefined until the volume has data and the network exists: the container's hash depends on both. */
export async function containerOf(context: NodeContext) {
  const { spec, host, paths, network, podman } = context;
  const [configText, id] = [await configOf(context), await networkId(network)];
  if (configText === undefined || id === undefined) return undefined;
  return desiredContainer({ spec, host, paths, network, networkId: id, configText, limits: podman.limits });
}
