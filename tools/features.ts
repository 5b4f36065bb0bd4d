/** A feature, and the tests and drills that prove it. A feature without proof is shown as "not yet". */
export type Feature = {
  /** One line of Markdown, for somebody who decides whether to install Moorage. */
  does: string;
  proofs: readonly string[];
};

const system = (name: string): string => `tests/system/${name}.test.ts`;
const drill = (name: string): string => `tests/faults/clusters/${name}.ts`;
const inControlPlane = (name: string): string => `packages/control-plane/src/${name}.integration.test.ts`;
const inAgent = (name: string): string => `packages/agent/src/${name}.integration.test.ts`;

export const features: readonly Feature[] = [
  {
    does: "MySQL databases with one node: create, list, view, credentials, update, delete, events",
    proofs: [system("one-database"), system("five-minutes")],
  },
  {
    does: "access by name over TLS with a certificate per database; the allow list is enforced in the host's kernel ([connecting](docs/tenants/connecting.md))",
    proofs: [system("reaching-a-database"), system("connecting-examples"), inAgent("firewall/random-lists")],
  },
  {
    does: "[daily backups, snapshots, restore in place, fork to a second](docs/tenants/life-of-a-database.md), encryption at rest, resize, suspend, patches in the maintenance window",
    proofs: [system("lifecycle"), inAgent("restore/restore"), inAgent("encryption/encryption")],
  },
  {
    does: "applications of common frameworks (Django, SQLAlchemy, TypeORM, Knex, Hibernate, GORM) and dumps with triggers, functions, events and definers",
    proofs: [system("applications"), system("dump")],
  },
  {
    does: "a full disk stops writes, not the server, and the tenant is told before",
    proofs: [system("full-disk"), inAgent("disk/disk")],
  },
  {
    does: "[three nodes](docs/tenants/three-nodes.md), `semi_synch`: automatic failover without a lost acknowledged write, a read-only port, replacement of lost nodes, resizes and patches one node at a time",
    proofs: [system("three-nodes"), drill("primary-lost"), drill("partitions"), drill("node-lost")],
  },
  {
    does: "three nodes, `asynch`: promotion by the control plane, with a receipt that counts what was lost",
    proofs: [system("three-nodes-asynch"), drill("asynch-control"), drill("forced-promotion")],
  },
  {
    does: "every step survives `kill -9`; so do a lost Temporal store and a PostgreSQL restored from a backup, after `moorage admin recover`",
    proofs: ["tests/faults/crash-points.ts", "tests/faults/outages.ts", drill("control-plane-away")],
  },
  {
    does: "every operation is one row of a table: OpenAPI, filters, limits, Idempotency-Key, scopes, grants of restricted users",
    proofs: ["tests/every-operation/every-operation.integration.test.ts", "tests/hostile/run.ts"],
  },
  {
    does: "published clients of the API family, unmodified ([clients](docs/clients.md))",
    proofs: ["tests/conformance/run.ts"],
  },
  {
    does: "[a command line](docs/tenants/command-line.md) for tenants and operators, and [a typed client](packages/client/README.md)",
    proofs: [inControlPlane("operator/command-line"), system("five-minutes")],
  },
  {
    does: "[users, grants and tokens](docs/tenants/users-and-tokens.md), sign-in with a second factor or a passkey, [OAuth apps](docs/tenants/oauth-apps.md)",
    proofs: [system("sign-in"), system("third-party-app")],
  },
  {
    does: "[`moorage login`](docs/tenants/command-line.md#sign-in) by browser or device code, tokens on the security page",
    proofs: [system("first-token")],
  },
  {
    does: "[billing](docs/tenants/billing.md): metering by the hour, invoices, taxes, credits, payments through Stripe, cancellation",
    proofs: [inControlPlane("payments/charge-trials"), "tests/faults/month-end.ts", system("cancel-account")],
  },
  {
    does: "card numbers pass through one process that stores none ([cards](docs/operating/cards.md))",
    proofs: [system("cards"), "tests/security/card-canary.ts"],
  },
  {
    does: "compute instances that the operator registers, and [transfers between accounts](docs/tenants/compute-instances.md)",
    proofs: ["tests/faults/transfer-flow.ts"],
  },
  {
    does: "[machine images](docs/tenants/images.md): upload, capture of a disk, a copy in every region's store, signed downloads for hypervisors",
    proofs: [system("images"), inControlPlane("images/importer/corpus")],
  },
  { does: "a web console", proofs: [] },
  { does: "an installer and ready-made releases for machines without a checkout", proofs: [] },
];
