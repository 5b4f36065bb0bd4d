import type { ColumnType } from "kysely";
import type {
  DeletionAllowance,
  DiskState,
  Generation,
  GroupReport,
  NodeReport,
  NodeSpec,
  NodeState,
  PrimaryChange,
  PrimaryTerm,
  TaskReport,
} from "@moorage/contract/agent";
import type { DatabaseStatus, EventAction, GlobalGrant, GrantFlag, Updates } from "@moorage/contract";

export type { Tables } from "./tables.gen.ts";

/** The grants of a user; a missing one is not granted. */
type GlobalGrants = Partial<Record<GlobalGrant | GrantFlag, boolean>>;
/** The recipient of an invoice. */
export type BillTo = {
  company: string;
  first_name: string;
  last_name: string;
  address_1: string;
  address_2: string;
  city: string;
  state: string;
  zip: string;
  country: string;
  tax_id: string;
  email: string;
};
/** What a phase waits for: the node at this generation, with these tasks done. */
export type DesiredNode = Generation & { node: string; tasks?: string[] };

/**
 * What the schema does not have of a column: the content of JSON, and values that no check constraint lists. Null and
 * defaults come from the schema, except where the type is a ColumnType.
 */
export type ColumnTypes = {
  "audit.detail": object;
  "charges.input": ColumnType<Record<string, unknown>, string | undefined, never>;
  "databases.status": DatabaseStatus;
  "databases.updates": Updates;
  "desired_phases.nodes": DesiredNode[];
  "events.action": EventAction;
  /** Always written, although the schema allows null. */
  "events.entity_type": ColumnType<string>;
  "events.entity_url": ColumnType<string>;
  "host_digests.nodes": NodeReport[];
  "hosts.deletion_allowance": DeletionAllowance;
  "invoices.bill_to": BillTo;
  "invoices.tax_summary": { name: string; tax_micros: number }[];
  "members.report": GroupReport;
  "node_alerts.detail": object;
  "nodes.desired_spec": NodeSpec;
  "nodes.disk_state": DiskState;
  "nodes.observed_state": NodeState;
  "nodes.observed_tasks": TaskReport[];
  "notifications.entity_url": ColumnType<string>;
  "oauth_client_thumbnails.png": ColumnType<Buffer<ArrayBuffer>, Buffer, Buffer>;
  "operations.input": ColumnType<Record<string, unknown>, string | undefined, never>;
  /** By the host that reported it. */
  "primary_changes.reports": Record<string, PrimaryChange["phases"] & { at: string }>;
  "primary_terms.reason": PrimaryTerm["reason"];
  "users.global_grants": GlobalGrants;
  "users.preferences": object;
};
