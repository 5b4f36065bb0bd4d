import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type {
  CaptureReport,
  DeletionAllowance,
  DiskState,
  Generation,
  GroupReport,
  PrimaryTerm,
  TaskReport,
  NodeReport,
  NodeSpec,
  NodeState,
  PrimaryChange,
} from "@moorage/contract/agent";
import type {
  DatabaseStatus,
  EntityType,
  EventAction,
  EventStatus,
  ImageStatus,
  Invoice,
  GlobalGrant,
  GrantFlag,
  OAuthClient,
  Permission,
  MaintenanceItem,
  Profile,
  TransferStatus,
  Updates,
} from "@moorage/contract";

/** Set by the database when a row is inserted, never by the application. */
type Id = ColumnType<number, number | undefined, never>;
/** The grants of a user; a missing one is not granted. */
type GlobalGrants = Partial<Record<GlobalGrant | GrantFlag, boolean>>;
type Json<T> = ColumnType<T, string, string>;
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

export type Tables = {
  installation: {
    only_row: Generated<boolean>;
    cell: number;
    epoch: Generated<number>;
    set_back_at: Date | null;
    recovery_epoch: number | null;
    fingerprint: string;
    unproven_since: Date | null;
  };
  accounts: {
    id: Id;
    euuid: Generated<string>;
    company: string;
    email: string;
    max_databases: number;
    max_nodes: number;
    max_memory_mb: number;
    max_disk_mb: number;
    databases: Generated<number>;
    nodes: Generated<number>;
    memory_mb: Generated<number>;
    disk_mb: Generated<number>;
    event_seq: Generated<number>;
    capabilities: Generated<string[]>;
    created_at: Date;
    contact_email: Generated<string | null>;
    first_name: Generated<string>;
    last_name: Generated<string>;
    address_1: Generated<string>;
    address_2: Generated<string>;
    city: Generated<string>;
    state: Generated<string>;
    zip: Generated<string>;
    country: Generated<string>;
    phone: Generated<string>;
    tax_id: Generated<string>;
    billing_source: Generated<Invoice["billing_source"]>;
    backups_enabled: Generated<boolean>;
    network_helper: Generated<boolean>;
    sees_availability: Generated<boolean>;
    invoiced_through: Generated<Date>;
    provider_customer: Generated<string | null>;
    closed_at: Generated<Date | null>;
    data_until: Generated<Date | null>;
  };
  users: {
    account_id: number;
    id: Id;
    username: string;
    email: string;
    restricted: boolean;
    global_grants: ColumnType<GlobalGrants, string | undefined, string>;
    created_at: Date;
    name_since: Generated<Date | null>;
    password_hash: Generated<string | null>;
    password_set_at: Generated<Date | null>;
    tfa_secret: Generated<string | null>;
    tfa_enabled_at: Generated<Date | null>;
    tfa_last_step: Generated<number | null>;
    tfa_offered_secret: Generated<string | null>;
    tfa_offered_until: Generated<Date | null>;
    timezone: Generated<string>;
    email_notifications: Generated<boolean>;
    lish_auth_method: Generated<Profile["lish_auth_method"]>;
    authorized_keys: Generated<string[]>;
    preferences: ColumnType<object, string | undefined, string>;
  };
  scratch_codes: { account_id: number; user_id: number; sha256: Buffer };
  passkeys: {
    account_id: number;
    id: Id;
    user_id: number;
    label: string;
    credential_id: Buffer;
    public_key: Buffer;
    counter: number;
    transports: string[];
    created_at: Date;
    used_at: Date | null;
  };
  logins: {
    id: Id;
    at: Date;
    account_id: number | null;
    user_id: number | null;
    username: string | null;
    restricted: boolean | null;
    address: string;
    status: "successful" | "failed";
  };
  password_links: { sha256: Buffer; account_id: number; user_id: number; created_at: Date; expires_at: Date };
  mails: {
    id: Id;
    message: string;
    created_at: Date;
    due_at: Date;
    tries: Generated<number>;
    given_up_at: Generated<Date | null>;
    last_error: Generated<string | null>;
  };
  oauth_clients: {
    account_id: number;
    id: string;
    label: string;
    redirect_uri: string;
    public: boolean;
    secret_sha256: Buffer;
    status: Generated<OAuthClient["status"]>;
    may_add_query: Generated<boolean>;
    epoch: Generated<number>;
    created_at: Date;
    deleted_at: Date | null;
  };
  oauth_client_thumbnails: {
    client_id: string;
    png: ColumnType<Buffer<ArrayBuffer>, Buffer, Buffer>;
    updated_at: Date;
  };
  app_grants: {
    account_id: number;
    id: Id;
    user_id: number;
    client_id: string;
    client_epoch: number;
    scopes: string[];
    created_at: Date;
    expires_at: Date;
    revoked_at: Date | null;
  };
  auth_records: {
    model: string;
    key_sha256: Buffer;
    account_id: number | null;
    user_id: number | null;
    app_grant_id: number | null;
    uid_sha256: Buffer | null;
    payload: string;
    expires_at: Date;
    consumed_at: Date | null;
  };
  signing_keys: { id: string; jwk: string; created_at: Date };
  entity_grants: {
    account_id: number;
    user_id: number;
    entity_type: EntityType;
    entity_id: number;
    permission: Permission;
  };
  event_watermarks: { account_id: number; user_id: number; seen_seq: number };
  event_reads: { account_id: number; user_id: number; event_id: number };
  tokens: {
    account_id: number;
    id: Id;
    user_id: number;
    label: string;
    sha256: Buffer;
    prefix: string;
    scopes: string[];
    created_at: Date;
    expires_at: Date | null;
    revoked_at: Date | null;
    /** Null: a personal token. */
    app_grant_id: Generated<number | null>;
    /** The scopes as the client wrote them; null where they are in our own form. */
    scopes_as_sent: Generated<string | null>;
    /** The program that `moorage login` signed in; null where the user created the token. */
    issued_to: Generated<string | null>;
  };
  regions: { id: string; label: string; country: string };
  outages: { region: string; message: string; since: Date };
  plans: {
    id: string;
    label: string;
    class: string;
    memory_mb: number;
    disk_mb: number;
    vcpus: number;
    hourly_micros: number;
    monthly_micros: number;
    deprecated: Generated<boolean>;
  };
  engine_versions: { id: string; engine: string; version: string; image: string; prepared: string };
  events: {
    id: number;
    account_id: number;
    seq: number;
    action: EventAction;
    status: EventStatus;
    entity_type: string;
    entity_id: string | null;
    entity_label: string | null;
    entity_url: string;
    username: string | null;
    message: string | null;
    message_code: string | null;
    operation_id: number | null;
    created_at: Date;
    finished_at: Date | null;
    secondary_type: Generated<string | null>;
    secondary_id: Generated<string | null>;
    secondary_label: Generated<string | null>;
    secondary_url: Generated<string | null>;
  };
  audit: {
    id: Id;
    at: Date;
    account_id: number | null;
    actor: string;
    action: string;
    target: string;
    detail: Json<object>;
  };
  operations: {
    account_id: number;
    id: Id;
    kind: string;
    entity_id: number;
    input: ColumnType<Record<string, unknown>, string | undefined, never>;
    event_id: number | null;
    created_at: Date;
    deadline_at: Date;
    run: Generated<number>;
    started_at: Date | null;
    sweep_at: Date;
    percent: Generated<number>;
    settled_at: Date | null;
    outcome: "done" | "failed" | null;
    message: string | null;
    message_code: string | null;
  };
  idempotency_keys: {
    account_id: number;
    user_id: number;
    operation: string;
    key_sha256: Buffer;
    request_hmac: Buffer;
    reply: string | null;
    expires_at: Date;
  };
  signals: { id: Generated<number>; operation_id: number };
  hosts: {
    id: Id;
    name: string;
    region: string;
    failure_domain: string;
    address: string;
    address6: Generated<string | null>;
    private_address: Generated<string | null>;
    node_network: string;
    state: Generated<"enrolling" | "active" | "drained" | "dead">;
    memory_mb: number;
    disk_mb: number;
    vcpus: number;
    reserved_memory_mb: Generated<number>;
    reserved_disk_mb: Generated<number>;
    revision: Generated<number>;
    enrol_token_sha256: Buffer | null;
    enrol_expires_at: Date | null;
    enrol_key_sha256: Buffer | null;
    certificate_sha256: Buffer | null;
    previous_certificate_sha256: Generated<Buffer | null>;
    deletion_allowance: Json<DeletionAllowance> | null;
    digest_epoch: Generated<number>;
    created_at: Date;
  };
  host_leases: {
    host_id: number;
    seen_at: Date;
    agent: string;
    agent_epoch: number;
    boot: string;
    clock_offset_ms: number;
    trash_mb: number;
    /** The agent names the captures that it knows, so it can capture. */
    captures: Generated<boolean>;
    unknown: string[];
  };
  host_digests: { host_id: number; epoch: number; nodes: Json<NodeReport[]>; at: Date };
  nodes: {
    account_id: number;
    id: string;
    database_id: number;
    host_id: number;
    ordinal: number;
    port: number;
    memory_mb: number;
    disk_mb: number;
    desired_spec: Json<NodeSpec> | null;
    desired_epoch: Generated<number>;
    desired_generation: Generated<number>;
    desired_revision: Generated<number>;
    tombstoned: Generated<boolean>;
    waiting_operation_id: number | null;
    observed_epoch: Generated<number>;
    observed_generation: Generated<number>;
    observed_state: NodeState | null;
    observed_step: string | null;
    observed_percent: Generated<number>;
    observed_message: string | null;
    observed_at: Date | null;
    used_disk_mb: number | null;
    created_at: Date;
    released_at: Date | null;
    observed_tasks: ColumnType<TaskReport[], string | undefined, string>;
    observed_timeline: Generated<string | null>;
    disk_state: Generated<DiskState | null>;
  };
  desired_phases: {
    operation_id: number;
    phase: string;
    nodes: JSONColumnType<DesiredNode[]>;
    percent_from: number | null;
    percent_to: number | null;
  };
  databases: {
    account_id: number;
    id: Id;
    label: string;
    engine_version: string;
    region: string;
    plan: string;
    cluster_size: number;
    replication_type: "none" | "asynch" | "semi_synch";
    encrypted: boolean;
    ssl_connection: boolean;
    allow_list: string[];
    status: DatabaseStatus;
    updates: Json<Updates>;
    port: number | null;
    admin_password: string;
    credentials_version: Generated<number>;
    created_at: Date;
    updated_at: Date;
    deleted_at: Date | null;
    /** Since when its DNS records have been published. */
    dns_published_at: Generated<Date | null>;
    powered: Generated<boolean>;
    /** The node image that it runs. Null until the first desired state of its nodes is written. */
    image: Generated<string | null>;
    timeline_id: Generated<string | null>;
    patch_due_at: Generated<Date | null>;
    verified_at: Generated<Date | null>;
    purge_at: Generated<Date | null>;
    /** The source of a fork, as requested. */
    fork_source: Generated<number | null>;
    fork_restore_time: Generated<Date | null>;
  };
  usage_facts: {
    account_id: number;
    resource_type: "database";
    resource_id: number;
    sequence: number;
    at: Date;
    state: "running" | "suspended" | "ended";
    plan: string;
    nodes: number;
    region: string;
    label: string;
  };
  prices: {
    plan: string;
    valid_from: Date;
    hourly_micros: number;
    monthly_micros: number;
    suspended_hourly_micros: number;
    suspended_monthly_micros: number;
  };
  tax_rates: {
    country: string;
    state: Generated<string>;
    name: string;
    valid_from: Date;
    valid_until: Date | null;
    rate_ppm: number;
    waived_by_tax_id: Generated<boolean>;
  };
  credits: {
    account_id: number;
    id: Id;
    description: string;
    summary: string;
    service_type: Generated<string>;
    image_url: Generated<string>;
    credit_micros: number;
    monthly_cap_micros: number;
    granted_at: Date;
    expires_at: Date | null;
  };
  adjustments: {
    account_id: number;
    id: Id;
    at: Date;
    label: string;
    amount_micros: number;
    invoice_id: number | null;
  };
  invoices: {
    account_id: number;
    id: Id;
    /** The first day of the month, such as 2026-10-01. */
    month: string;
    label: string;
    created_at: Date;
    until: Date;
    billing_source: Invoice["billing_source"];
    bill_to: Json<BillTo>;
    subtotal_micros: number;
    tax_micros: number;
    total_micros: number;
    tax_summary: Json<{ name: string; tax_micros: number }[]>;
  };
  invoice_items: {
    account_id: number;
    invoice_id: number;
    ordinal: number;
    label: string;
    type: "hourly" | "misc";
    from_at: Date;
    to_at: Date;
    quantity: number;
    unit_price_micros: number;
    amount_micros: number;
    tax_micros: number;
    total_micros: number;
    region: string | null;
    resource_type: string | null;
    resource_id: number | null;
    credit_id: number | null;
    adjustment_id: number | null;
  };
  billing_runs: {
    month: string;
    first_account: number;
    last_account: number;
    created_at: Date;
    finished_at: Date | null;
  };
  ledger: {
    account_id: number;
    id: Id;
    at: Date;
    kind: "invoice" | "payment" | "refund";
    source: number;
    receivable_micros: Generated<number>;
    revenue_micros: Generated<number>;
    tax_micros: Generated<number>;
    cash_micros: Generated<number>;
  };
  payment_methods: {
    account_id: number;
    id: Id;
    provider_token: string;
    card_type: string;
    last_four: string;
    expiry_month: number;
    expiry_year: number;
    is_default: boolean;
    created_at: Date;
    deleted_at: Date | null;
    forgotten_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  };
  card_attempts: {
    account_id: number;
    id: Id;
    at: Date;
    outcome: "added" | "refused" | null;
    request: string | null;
  };
  charges: {
    account_id: number;
    id: Id;
    purpose: "payment" | "invoice" | "cancel";
    amount_micros: number;
    payment_method_id: number;
    status: Generated<"pending" | "succeeded" | "declined">;
    reason: string | null;
    provider_id: string | null;
    refunded_micros: Generated<number>;
    input: ColumnType<Record<string, unknown>, string | undefined, never>;
    username: string | null;
    created_at: Date;
    attempts: Generated<number>;
    due_at: Date;
    settled_at: Date | null;
  };
  refunds: { account_id: number; id: Id; charge_id: number; at: Date; amount_micros: number };
  autopay: { account_id: number; declines: Generated<number>; due_at: Date | null };
  payments: { account_id: number; id: Id; charge_id: number; at: Date; amount_micros: number };
  provider_events: { id: string; type: string; received_at: Date };
  computes: {
    account_id: number;
    id: Id;
    label: string;
    region: string;
    plan: string | null;
    host_id: number | null;
    created_at: Date;
    updated_at: Date;
    deleted_at: Date | null;
  };
  disks: {
    account_id: number;
    id: Id;
    compute_id: number;
    label: string;
    size_mb: number;
    filesystem: "raw" | "swap" | "ext3" | "ext4" | "initrd";
    device: string;
    created_at: Date;
    updated_at: Date;
    deleted_at: Date | null;
  };
  images: {
    id: Id;
    account_id: number | null;
    name: string | null;
    label: string;
    description: string | null;
    capabilities: Generated<string[]>;
    created_by: string;
    vendor: Generated<string | null>;
    deprecated: Generated<boolean>;
    eol: Generated<Date | null>;
    type: Generated<"manual" | "automatic">;
    status: ImageStatus;
    region: string;
    size_mb: Generated<number>;
    raw_bytes: Generated<number | null>;
    stored_bytes: Generated<number | null>;
    raw_sha256: Generated<Buffer | null>;
    upload_sha256: Generated<Buffer | null>;
    content: Generated<string | null>;
    manifest_sha256: Generated<Buffer | null>;
    event_id: Generated<number | null>;
    operation_id: Generated<number | null>;
    next_check_at: Generated<Date | null>;
    upload_until: Generated<Date | null>;
    failed_at: Generated<Date | null>;
    expiry: Generated<Date | null>;
    remove_at: Generated<Date | null>;
    created_at: Date;
    updated_at: Date;
    deleted_at: Generated<Date | null>;
    clear_at: Generated<Date | null>;
    cleared_at: Generated<Date | null>;
  };
  image_copies: {
    image_id: number;
    store: string;
    status: "pending" | "available";
    next_try_at: Date;
    updated_at: Date;
  };
  image_sweeps: { store: string; swept_at: Date };
  captures: {
    account_id: number;
    id: Generated<string>;
    image_id: number;
    operation_id: number;
    host_id: number;
    disk_id: number;
    device: string;
    max_bytes: number;
    observed_state: Generated<CaptureReport["state"] | null>;
    observed_percent: Generated<number>;
    observed_message: Generated<string | null>;
    observed_content: Generated<string | null>;
    observed_at: Generated<Date | null>;
    created_at: Date;
  };
  image_limits: { account_id: number; images: number | null; total_mb: number | null; raw_mb: number | null };
  maintenance: {
    account_id: number;
    id: Id;
    compute_id: number;
    type: MaintenanceItem["type"];
    reason: string;
    status: Generated<MaintenanceItem["status"] | "canceled">;
    when_at: Date;
    created_at: Date;
    ended_at: Generated<Date | null>;
  };
  transfers: {
    account_id: number;
    id: Id;
    token_sha256: Buffer;
    /** Sealed. */
    token: string;
    computes: number[];
    status: Generated<TransferStatus>;
    receiver_account_id: Generated<number | null>;
    receiver: Generated<string | null>;
    message: Generated<string | null>;
    created_at: Date;
    updated_at: Date;
    expires_at: Date;
  };
  archives: { account_id: number; database_id: number; recipient: string; identity: string };
  timelines: {
    account_id: number;
    id: string;
    database_id: number;
    ordinal: number;
    prepared: string | null;
    parent_id: string | null;
    parent_copy_id: string | null;
    parent_until: Date | null;
    created_at: Date;
    ended_at: Generated<Date | null>;
    archived_through: Date;
    last_log: Generated<number>;
    gap_allowed: Generated<boolean>;
    next_point_at: Date | null;
    swept_at: Generated<Date>;
  };
  copies: {
    account_id: number;
    id: string;
    timeline_id: string;
    started_at: Date;
    ended_at: Date;
    gtid: string;
    bytes: number;
    parts: number;
    manifest_sha256: string;
    first_log: Generated<number>;
    doomed_at: Generated<Date | null>;
  };
  binary_logs: {
    account_id: number;
    timeline_id: string;
    sequence: number;
    name: string;
    closed_at: Date;
    gtid: string;
    bytes: number;
    sha256: string;
    doomed_at: Generated<Date | null>;
  };
  backups: {
    account_id: number;
    id: Id;
    database_id: number;
    type: "auto" | "snapshot";
    label: string;
    timeline_id: string;
    copy_id: string | null;
    point_at: Date;
    created_at: Date;
    verified_at: Generated<Date | null>;
  };
  keyrings: { account_id: number; node_id: string; keyring: string; reported_at: Date };
  clusters: {
    account_id: number;
    database_id: number;
    group_password: string;
    check_at: Generated<Date | null>;
    degraded_since: Generated<Date | null>;
    tenant_message: Generated<string | null>;
    advice: Generated<string | null>;
  };
  members: {
    account_id: number;
    node_id: string;
    database_id: number;
    report: ColumnType<GroupReport | null, string | undefined, string | null>;
    reported_at: Generated<Date | null>;
    unhealthy_since: Generated<Date | null>;
    replaced_at: Generated<Date | null>;
  };
  primary_terms: {
    account_id: number;
    database_id: number;
    node_id: string;
    term: number;
    reason: PrimaryTerm["reason"];
    from_node: string | null;
    since: Date;
  };
  lost_transactions: {
    account_id: number;
    database_id: number;
    timeline_id: string;
    node_id: string;
    name: string;
    gtid: string;
    transactions: number;
    bytes: number;
    sha256: string;
    saved_at: Date;
    expires_at: Date;
  };
  archivers: { account_id: number; timeline_id: string; node_id: string; since: Date };
  archive_branches: { timeline_id: string; sequence: number; gtid: string; left_out: number; at: Date };
  unfit_archivers: { timeline_id: string; node_id: string; at: Date };
  primary_changes: {
    account_id: number;
    id: Id;
    database_id: number;
    group_id: string;
    view: string;
    from_node: string | null;
    to_node: string;
    operation_id: number | null;
    at: Date;
    /** By the host that reported it. */
    reports: ColumnType<Record<string, PrimaryChange["phases"] & { at: string }>, string | undefined, string>;
    gtid_before: string | null;
    gtid_after: string | null;
    lost: number | null;
    event_id: number | null;
  };
  node_alerts: {
    id: Generated<number>;
    account_id: number;
    database_id: number;
    node_id: string;
    kind: "disk" | "verification";
    detail: Json<object>;
    at: Date;
  };
  notifications: {
    account_id: number;
    id: Id;
    entity_type: string;
    entity_id: string;
    cause: string;
    type: string;
    severity: "minor" | "major" | "critical";
    label: string;
    message: string;
    body: string | null;
    entity_label: string | null;
    entity_url: string;
    since: Date;
    until: Date | null;
  };
};
