import type { AccessDeps } from "../access/firewall-steps.ts";
import type { KeyringDeps } from "../encryption/keyring.ts";
import type { CertificateDeps } from "../node/node-certificate.ts";
import type { NodeContext, NodeDeps } from "../node/node-context.ts";
import type { FollowingDeps } from "../replication/following/following-memory.ts";
import type { ReplicationDeps } from "../replication/member/member-context.ts";

export type ProvisionDeps = NodeDeps & CertificateDeps & KeyringDeps & AccessDeps & ReplicationDeps & FollowingDeps;
export type ProvisionContext = NodeContext & ProvisionDeps;
