import type { Cluster } from "@moorage/contract/agent";
import { addressOf, type NodeRow, uidOf, type UntimedSpec } from "#fleet/index.ts";
import type { EngineVersion, Plan } from "#regions/index.ts";
import { sourcesOf } from "../model/allow-list.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { primaryHostname, privateHostname } from "../model/entity.ts";
import { ADMIN_USERNAME } from "../model/entity.ts";
import type { ArchiveContext, TimelineRow } from "../model/timeline-store.ts";

/** The complete desired state of a database's node. */
export const nodeSpec = (
  node: Pick<NodeRow, "id" | "ordinal" | "port">,
  context: {
    database: DatabaseRow;
    plan: Plan;
    engine: EngineVersion;
    nodeNetwork: string;
    zone: string;
    archiveContext?: ArchiveContext | undefined;
    cluster?: Cluster | undefined;
    /** In a cluster: this node restores the data of the timeline. */
    makes?: boolean;
    /** In a cluster: the archiver. */
    archiver?: string | undefined;
  },
): UntimedSpec => {
  const { database, plan, engine, zone, archiveContext, cluster, makes = false, archiver } = context;
  return {
    version: 1,
    node: node.id,
    database: {
      account: database.account_id,
      id: database.id,
      label: database.label,
      region: database.region,
      plan: database.plan,
      engine: database.engine_version,
      cluster_size: database.cluster_size,
      replication_type: database.replication_type,
      encrypted: database.encrypted,
      ssl_connection: database.ssl_connection,
      allow_list: database.allow_list,
      created: database.created_at.toISOString(),
      ...forkOf(database),
    },
    ordinal: node.ordinal,
    engine: {
      name: "mysql",
      version: engine.version,
      // The database's own image: a patch brings the engine's newer one, in the maintenance window.
      image: database.image ?? engine.image,
      prepared: archiveContext?.timeline.prepared ?? engine.prepared,
    },
    resources: { memory_mb: plan.memory_mb, vcpus: plan.vcpus, disk_mb: plan.disk_mb },
    network: { address: addressOf(context.nodeNetwork, node.port), port: node.port },
    firewall: { sources: sourcesOf(database.allow_list) },
    uid: uidOf(node.port),
    server_id: serverIdOf(node.id),
    credentials: { username: ADMIN_USERNAME, version: database.credentials_version },
    tls: { names: [primaryHostname(database.id, zone), privateHostname(database.id, zone)], version: 1 },
    ...(database.powered ? {} : { power: "off" as const }),
    ...(archiveContext === undefined
      ? {}
      : archiveFieldsOf(archiveContext, cluster, { makes, isArchiver: archiver === node.id })),
    ...(cluster === undefined ? {} : { cluster }),
  };
};

const forkOf = ({ fork_source, fork_restore_time: time }: DatabaseRow): Pick<UntimedSpec["database"], "fork"> =>
  fork_source === null
    ? {}
    : { fork: { source: fork_source, ...(time === null ? {} : { restore_time: time.toISOString() }) } };

const archiveFieldsOf = (
  { timeline, recipient, keep, archive }: ArchiveContext,
  cluster: Cluster | undefined,
  { makes, isArchiver }: { makes: boolean; isArchiver: boolean },
): Pick<UntimedSpec, "data" | "archive"> => ({
  data: {
    timeline: timeline.id,
    ordinal: timeline.ordinal,
    origin: originOf(timeline, cluster === undefined || makes),
    ...(keep === undefined ? {} : { keep }),
  },
  archive: { recipient, ...archive, ...(cluster === undefined || isArchiver ? {} : { archiver: false as const }) },
});

/**
 * In a cluster only the first primary restores the data of a timeline from the archive, and only once: the others clone
 * from it, and a member that loses its data later clones from the others.
 */
function originOf({ prepared }: TimelineRow, makes: boolean) {
  if (prepared !== null) return "prepared";
  return makes ? "archive" : "cluster";
}

/** Never reused: a wiped node with its old server id would ignore its own former transactions. 1 to 2^32 - 1. */
const serverIdOf = (nodeId: string): number => (Number.parseInt(nodeId.slice(0, 8), 16) % 4_294_967_295) + 1;
