import type { NodeSpec } from "@moorage/contract/agent";

export const testSpec = (change: Partial<NodeSpec> = {}): NodeSpec => ({
  version: 1,
  node: "11111111-1111-4111-8111-111111111111",
  epoch: 1,
  generation: 1,
  database: {
    account: 1,
    id: 1,
    label: "orders",
    region: "test",
    plan: "small",
    engine: "mysql/9.7.4",
    cluster_size: 1,
    replication_type: "none",
    encrypted: false,
    ssl_connection: true,
    allow_list: [],
    created: "2026-01-01T00:00:00",
  },
  ordinal: 0,
  engine: { name: "mysql", version: "9.7.4", image: "0".repeat(64), prepared: "0".repeat(64) },
  resources: { memory_mb: 512, vcpus: 1, disk_mb: 1024 },
  network: { address: "198.18.77.64", port: 20_000 },
  uid: 2_000_000_001,
  server_id: 1,
  credentials: { username: "dbadmin", version: 1 },
  ...change,
});

export const testTls = { names: ["db-1-mysql-primary.moorage.test"], version: 1 };

const memberId = (ordinal: number): string => `0000000${ordinal + 1}-0000-4000-8000-000000000000`;

/** A member of a cluster whose hosts are 198.18.77.1 to .3. */
export const memberSpec = (ordinal: number, change: Partial<NodeSpec> = {}): NodeSpec => {
  const members = [0, 1, 2].map((each) => ({
    node: memberId(each),
    ordinal: each,
    host: `host-${each + 1}`,
    address: `198.18.77.${each + 1}`,
  }));
  const group = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
  const spec = testSpec({ node: memberId(ordinal), ordinal, server_id: ordinal + 1 });
  return {
    ...spec,
    database: { ...spec.database, cluster_size: 3, replication_type: "semi_synch" },
    tls: testTls,
    cluster: { replication: "semi_synch", group, members, members_version: 1 },
    ...change,
  };
};
