import { hasBaseline } from "../provision/baseline-steps.ts";
import { exists, imageMb, isGrown } from "../node/volume.ts";
import { type KeyringState, keyringState } from "../encryption/keyring.ts";
import { takesPart } from "../replication/watch-groups.ts";
import { credentialsOf } from "../replication/member/member-sql.ts";
import { isFirewallApplied } from "../access/firewall-steps.ts";
import { serverOf } from "../provision/container.ts";
import { isMountPoint, mountedFile } from "../node/mounts.ts";
import { isInhabited, networkId } from "../node/network.ts";
import { type CertificateState, certificateState } from "../node/node-certificate.ts";
import type { StepContext } from "./step-context.ts";
import { appliedCredentials } from "../specs/node-state.ts";
import { nodeLabel, type Podman, specLabel } from "../node/podman.ts";
import { discardedOrdinals, volumesOf } from "../node/timelines.ts";

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

export async function gather(context: StepContext, seen: SeenContainer | undefined): Promise<Facts> {
  const { paths } = context;
  const desired = await serverOf(context);
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
const credentials = ({ spec, paths }: StepContext): Promise<number> =>
  spec.cluster === undefined ? appliedCredentials(paths) : credentialsOf(paths.socket, spec).catch(() => 0);
