import { createHash } from "node:crypto";
import { dirname } from "node:path";
import type { NodeSpec } from "@moorage/contract/agent";
import type { ContainerCreateOptions } from "dockerode";
import { keyringBinds } from "../encryption/keyring.ts";
import { temporaryBind } from "../encryption/temporary.ts";
import type { HostPaths, NodePaths } from "../base/host-paths.ts";
import { networkId, type NodeNetwork } from "../node/network.ts";
import { ownFolder } from "../node/mounts.ts";
import { containerName, imageName, type Limits, nodeLabel, specLabel } from "../node/podman.ts";
import { readIfThere } from "../base/durable-file.ts";
import type { NodeContext } from "../node/node-context.ts";
import { ownMember } from "../specs/member.ts";
import { configFile } from "./config-file.ts";

export type ContainerInput = {
  spec: NodeSpec;
  host: HostPaths;
  paths: NodePaths;
  network: NodeNetwork;
  /** Part of the hash: a container in a namespace that is no longer the node's is recreated. */
  networkId: number;
  /** The settings that its data directory was created with. */
  fixed: string;
  limits: Limits;
};

export type DesiredServer = { options: ContainerCreateOptions; config: string; hash: string };

/** All options of the container, and its my.cnf. Both have the hash of what the server is for: see `purposeOf`. */
export function desiredServer(input: ContainerInput): DesiredServer {
  const { spec, host, paths, network, fixed, limits } = input;
  const options: ContainerCreateOptions = {
    name: containerName(spec.node),
    Image: imageName(spec.engine.name, spec.engine.image),
    Entrypoint: ["/usr/sbin/mysqld"],
    Cmd: ["--defaults-file=/etc/mysql/my.cnf", "--init-file=/etc/mysql/start-up/start-up.sql"],
    Env: ["TCMALLOC_AGGRESSIVE_DECOMMIT=1", "TZ=UTC"],
    User: `${spec.uid}:${spec.uid}`,
    StopSignal: "SIGTERM",
    HostConfig: {
      NetworkMode: `ns:${network.path}`,
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges", `seccomp=${host.seccomp}`],
      Memory: spec.resources.memory_mb * 1024 * 1024,
      NanoCpus: Math.round(spec.resources.vcpus * 1e9),
      PidsLimit: 5000,
      Ulimits: Object.entries(limits).map(([Name, limit]) => ({ Name, Soft: limit, Hard: limit })),
      Tmpfs: { "/tmp": "rw,nosuid,nodev,noexec,size=16m,mode=1777" },
      Binds: [
        `${paths.volume}:/volume:rw`,
        `${paths.run}:/run/mysqld:${ownFolder}`,
        `${paths.config}:/etc/mysql/my.cnf:ro`,
        // The folder, not the file: a new file replaces the old one by a rename.
        `${dirname(paths.startUp)}:/etc/mysql/start-up:ro`,
        ...(spec.tls === undefined ? [] : [`${paths.tls}:/etc/mysql/tls:ro`]),
        // rslave: what the agent mounts below it later, for a copy of the server's data, is visible inside.
        ...(spec.archive === undefined ? [] : [`${paths.scratch}:/scratch:rw,rslave`]),
        ...(spec.database.encrypted ? [...keyringBinds(host, paths), temporaryBind(paths.temporary)] : []),
      ],
      LogConfig: { Type: "k8s-file", Config: { "max-size": "10mb" } },
      // The agent restarts a node: only the agent knows that volume and network are in place.
      RestartPolicy: { Name: "no" },
    },
  };
  const hash = createHash("sha256")
    .update(JSON.stringify(purposeOf(input)))
    .digest("hex");
  return {
    options: { ...options, Labels: { [nodeLabel]: spec.node, [specLabel]: hash } },
    config: `${firstLineOf(hash)}\n${configFile(fixed, spec)}`,
    hash,
  };
}

/**
 * Everything that the options and my.cnf are derived from. When one of these changes, the server is restarted with a new
 * container and a new file. An agent that derives other options or another file from the same values restarts nothing:
 * they take effect when one of these changes next, at the latest with the next image, in the maintenance window (ADR 30).
 */
function purposeOf({ spec, paths, networkId: id, fixed }: ContainerInput) {
  const { engine, uid, server_id, resources, database, network, cluster, tls, archive } = spec;
  const member = ownMember(spec);
  return {
    engine: { name: engine.name, image: engine.image },
    ordinal: paths.ordinal,
    fixed,
    uid,
    server_id,
    resources,
    network: { id, address: member?.own.address ?? network.address, peerPort: member?.peerPort },
    cluster: cluster && { replication: cluster.replication, group: cluster.group },
    encrypted: database.encrypted,
    requiresTls: database.ssl_connection,
    hasCertificate: tls !== undefined,
    hasArchive: archive !== undefined,
  };
}

const firstLineOf = (hash: string): string => `# Written for the server ${hash}.`;

/** A file that was written for this server stays, whatever this agent would write. */
export const isWrittenFor = (file: string | undefined, { hash }: Pick<DesiredServer, "hash">): boolean =>
  file?.startsWith(`${firstLineOf(hash)}\n`) ?? false;

/** Undefined until the volume has data and the network exists: the server depends on both. */
export async function serverOf({
  spec,
  host,
  paths,
  network,
  podman,
}: NodeContext): Promise<DesiredServer | undefined> {
  const [fixed, id] = [await readIfThere(paths.fixedConfig), await networkId(network)];
  if (fixed === undefined || id === undefined) return undefined;
  return desiredServer({ spec, host, paths, network, networkId: id, fixed, limits: podman.limits });
}
