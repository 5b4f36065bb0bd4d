import { addressOf, type NodeRow, type UntimedSpec, uidOf } from "#fleet/index.ts";
import type { EngineVersion, Plan } from "#regions/index.ts";
import { sourcesOf } from "./allow-list.ts";
import type { DatabaseRow } from "./database-store.ts";
import { ADMIN_USERNAME } from "./credentials.ts";
import { primaryName, privateName } from "./names.ts";

/** The whole wanted state of a database's node. */
export const nodeSpec = (
  node: Pick<NodeRow, "id" | "ordinal" | "port">,
  context: { database: DatabaseRow; plan: Plan; engine: EngineVersion; nodeNetwork: string; zone: string },
): UntimedSpec => {
  const { database, plan, engine, zone } = context;
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
    },
    ordinal: node.ordinal,
    engine: { name: "mysql", version: engine.version, image: engine.image, prepared: engine.prepared },
    resources: { memory_mb: plan.memory_mb, vcpus: plan.vcpus, disk_mb: plan.disk_mb },
    network: { address: addressOf(context.nodeNetwork, node.port), port: node.port },
    gate: { sources: sourcesOf(database.allow_list) },
    uid: uidOf(node.port),
    server_id: serverIdOf(node.id),
    credentials: { username: ADMIN_USERNAME, version: database.credentials_version },
    tls: { names: [primaryName(database.id, zone), privateName(database.id, zone)], version: 1 },
  };
};

/** Never used before: a wiped node under its old server id ignores its own former transactions. 1 to 2^32 - 1. */
const serverIdOf = (nodeId: string): number => (Number.parseInt(nodeId.slice(0, 8), 16) % 4_294_967_295) + 1;
