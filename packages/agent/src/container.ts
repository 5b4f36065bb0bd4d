import { createHash } from "node:crypto";
import type { NodeSpec } from "@moorage/contract/agent";
import type { ContainerCreateOptions } from "dockerode";
import { keyringBinds } from "./encryption/keyring-component.ts";
import { temporaryBind } from "./encryption/temporary.ts";
import type { HostPaths, NodePaths } from "./host-paths.ts";
import type { NodeNetwork } from "./network.ts";
import { containerName, imageName, type Limits, nodeLabel, specLabel } from "./podman.ts";

export type ContainerInput = {
  spec: NodeSpec;
  host: HostPaths;
  paths: NodePaths;
  network: NodeNetwork;
  /** Part of the hash: a container in a namespace that is no longer the node's is recreated. */
  networkId: number;
  configText: string;
  limits: Limits;
};

/** All options of the container, with a hash of what matters in the label `moorage.spec`. */
export function desiredContainer(input: ContainerInput): { options: ContainerCreateOptions; hash: string } {
  const { spec, host, paths, network, networkId, configText, limits } = input;
  const options: ContainerCreateOptions = {
    name: containerName(spec.node),
    Image: imageName(spec.engine.name, spec.engine.image),
    Entrypoint: ["/usr/sbin/mysqld"],
    Cmd: ["--defaults-file=/etc/mysql/my.cnf", "--init-file=/run/mysqld/start-up.sql"],
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
        `${paths.run}:/run/mysqld:rw`,
        `${paths.config}:/etc/mysql/my.cnf:ro`,
        // The folder, not the file: a renewed certificate replaces the old one by a rename.
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
    .update(JSON.stringify([options, networkId, configText, ...(paths.ordinal === 0 ? [] : [paths.ordinal])]))
    .digest("hex");
  return { options: { ...options, Labels: { [nodeLabel]: spec.node, [specLabel]: hash } }, hash };
}
