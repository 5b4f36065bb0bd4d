import { z } from "zod";
import { DeletionAllowance } from "../agent/protocol.ts";
import { defineOperation } from "../operation.ts";
import { Id } from "../wire.ts";
import { Amount, Name, whole } from "./fields.ts";

export const NewHost = z.object({
  name: Name,
  region: Name.describe("region of the host; see moorage admin region list"),
  failure_domain: Name.describe("group of hosts that fail together, such as a rack"),
  address: z.ipv4().describe("IPv4 address at which clients reach the databases of the host"),
  address6: z.ipv6().describe("IPv6 address at which clients reach the databases of the host").optional(),
  private_address: z.ipv4().describe("address of the host in the private network, if there is one").optional(),
  node_network: z
    .cidrv4()
    .endsWith("/20", "a /20: one address for each port of the host")
    .describe("/20 network for the nodes of this host; no other host may use it"),
  memory_mb: Amount.describe("memory for databases, in MB"),
  disk_mb: Amount.describe("disk space for databases, in MB"),
  vcpus: z.number().positive().describe("number of processors"),
});
export const Host = z.object({
  id: z.int(),
  name: z.string(),
  region: z.string(),
  failure_domain: z.string(),
  address: z.string(),
  address6: z.string().nullable(),
  private_address: z.string().nullable(),
  state: z.string(),
  memory_mb: z.object({ total: z.int(), reserved: z.int() }),
  disk_mb: z.object({ total: z.int(), reserved: z.int(), trash: z.int() }),
  agent: z.string().nullable(),
  /** Since the host last polled; null before the first time. */
  silent_seconds: z.int().nullable(),
  /** Since PostgreSQL last started. Until then changes of the host's databases are refused. */
  compared: z.boolean(),
  /** It claimed a state that it was not sent: it gets neither specs nor secrets until a recovery or a new enrolment. */
  quarantined: z.boolean(),
  clock_wrong: z.boolean(),
  /** Addresses that used its certificate in turn within the last day: somebody else may have it. */
  shared_by: z.array(z.string()),
  /** Its certificate was revoked, and it was not enrolled again yet. */
  revoked: z.boolean(),
  /** Containers and volumes that no spec explains. */
  unknown: z.array(z.string()),
  /** What the host's limit of deletions holds, by node. */
  held: z.array(z.object({ node: z.string(), database: z.int(), message: z.string() })),
});
export type Host = z.output<typeof Host>;
export const RecoveryRequest = z.object({
  wait_seconds: z
    .number()
    .min(0)
    .max(300)
    .describe("time to wait for the reports of the hosts, in seconds")
    .default(30),
  without: z
    .array(Name)
    .max(1000, "at most 1,000 hosts")
    .describe("names of lost hosts, which are not waited for")
    .default([]),
  plan: z
    .boolean()
    .describe(
      "show what the recovery would do, and do none of it; changes of tenants are refused until it runs without this",
    )
    .default(false),
});
export const Recovery = z.object({
  /** Nothing was changed yet: changes of tenants are refused until the recovery runs without a plan. */
  plan: z.boolean(),
  epoch: z.int(),
  hosts: z.int(),
  kept: z.int(),
  adopted: z.array(z.string()),
  deleted: z.array(z.string()),
  missing: z.array(z.string()),
  orphans: z.array(z.string()),
  refused: z.array(z.string()),
});
export type Recovery = z.output<typeof Recovery>;

const common = { audience: "operator", tag: "Hosts" } as const;

export const listHosts = defineOperation({
  ...common,
  id: "listHosts",
  summary: "List all hosts with their state, reserved capacity and warnings",
  method: "GET",
  path: "/admin/hosts",
  reply: whole(Host),
});

export const addHost = defineOperation({
  ...common,
  id: "addHost",
  summary: "Register a host and print its one-time enrolment token",
  method: "POST",
  path: "/admin/hosts",
  body: NewHost,
  reply: z.object({ id: z.int(), state: z.string(), enrol_token: z.string().optional() }),
});

export const allowDeletions = defineOperation({
  ...common,
  id: "allowDeletions",
  summary: "Allow a host to exceed its limit of deletions",
  note: "Signed with the operator's key, which the control plane does not have.",
  method: "POST",
  path: "/admin/hosts/:hostId/allowance",
  params: z.object({ hostId: Id }),
  body: DeletionAllowance,
  reply: DeletionAllowance,
});

export const declareHostDead = defineOperation({
  ...common,
  id: "declareHostDead",
  summary:
    "Mark a host as permanently lost, so that its nodes are replaced, and databases of one node restored on other hosts",
  method: "POST",
  path: "/admin/hosts/:name/dead",
  params: z.object({ name: z.string() }),
  reply: z.object({ id: z.int(), name: z.string(), nodes: z.int() }),
});

export const revokeHost = defineOperation({
  ...common,
  id: "revokeHost",
  summary: "Revoke the certificate and the key of a host; its nodes continue to run",
  method: "POST",
  path: "/admin/hosts/:name/revoke",
  params: z.object({ name: z.string() }),
  reply: z.object({ id: z.int(), name: z.string() }),
});

export const enrolHostAgain = defineOperation({
  ...common,
  id: "enrolHostAgain",
  summary: "Revoke the certificate of a host and print a one-time token, with which the host enrols a new key",
  method: "POST",
  path: "/admin/hosts/:name/enrol-again",
  params: z.object({ name: z.string() }),
  reply: z.object({ id: z.int(), name: z.string(), enrol_token: z.string() }),
});

export const recover = defineOperation({
  ...common,
  id: "recover",
  summary: "Reconcile the control plane with its hosts after PostgreSQL was restored from a backup",
  method: "POST",
  path: "/admin/recover",
  body: RecoveryRequest,
  reply: Recovery,
});
