/**
 * The objects of section 2 of the interface and the replies of the operations of section 4, written by hand from the
 * interface, never from the contract: OpenAPI and real replies are compared with them. `deviations` lists intended
 * differences; docs/where-the-interface-is-silent.md has a row for each.
 */
export type Scalar = "string" | "integer" | "number" | "boolean" | "date-time" | "url" | "uuid" | "ip";
export type Field = (
  | { is: readonly Scalar[] }
  /** A closed set of values. */
  | { values: readonly (string | number)[] }
  /** A set of values that may grow; our extensions begin with `ours`. */
  | { known: readonly string[]; ours: string }
  | { list: Field }
  /** A named object of the interface has the same name everywhere. */
  | { fields: Fields; name?: string }
  /** An object whose keys are names of kinds. */
  | { byKind: Field }
) & { nullable?: true };
export type Fields = Readonly<Record<string, Field>>;

const is = (...types: Scalar[]): Field => ({ is: types });
const [string, integer, number, boolean] = [is("string"), is("integer"), is("number"), is("boolean")];
const [dateTime, url, uuid, ip] = [is("date-time"), is("url"), is("uuid"), is("ip")];
const oneOf = (...values: (string | number)[]): Field => ({ values });
const list = (item: Field): Field => ({ list: item });
const object = (fields: Fields): Field => ({ fields });
const nullable = (field: Field): Field => ({ ...field, nullable: true });

const billingSource = oneOf("partner", "operator");

/** Section 6. */
const actions = [
  "account_update",
  "account_settings_update",
  "backups_enable",
  "backups_cancel",
  "backups_restore",
  "community_question_reply",
  "community_like",
  "credit_card_updated",
  "disk_create",
  "disk_delete",
  "disk_update",
  "disk_duplicate",
  "disk_imagize",
  "disk_resize",
  "dns_record_create",
  "dns_record_delete",
  "dns_record_update",
  "dns_zone_create",
  "dns_zone_delete",
  "dns_zone_import",
  "dns_zone_update",
  "entity_transfer_accept",
  "entity_transfer_cancel",
  "entity_transfer_create",
  "entity_transfer_fail",
  "entity_transfer_stale",
  "firewall_create",
  "firewall_delete",
  "firewall_disable",
  "firewall_enable",
  "firewall_update",
  "firewall_device_add",
  "firewall_device_remove",
  "host_reboot",
  "image_delete",
  "image_update",
  "image_upload",
  "ipaddress_update",
  "lassie_reboot",
  "lish_boot",
  "compute_addip",
  "compute_boot",
  "compute_clone",
  "compute_create",
  "compute_delete",
  "compute_update",
  "compute_deleteip",
  "compute_migrate",
  "compute_migrate_datacenter",
  "compute_migrate_datacenter_create",
  "compute_mutate",
  "compute_mutate_create",
  "compute_reboot",
  "compute_rebuild",
  "compute_resize",
  "compute_resize_create",
  "compute_shutdown",
  "compute_snapshot",
  "compute_config_create",
  "compute_config_delete",
  "compute_config_update",
  "kube_node_create",
  "monitorclient_create",
  "monitorclient_delete",
  "monitorclient_update",
  "managed_disabled",
  "managed_enabled",
  "managed_service_create",
  "managed_service_delete",
  "balancer_create",
  "balancer_delete",
  "balancer_update",
  "balancer_config_create",
  "balancer_config_delete",
  "balancer_config_update",
  "balancer_node_create",
  "balancer_node_delete",
  "balancer_node_update",
  "oauth_client_create",
  "oauth_client_delete",
  "oauth_client_secret_reset",
  "oauth_client_update",
  "obj_access_key_create",
  "obj_access_key_delete",
  "obj_access_key_update",
  "password_reset",
  "payment_method_add",
  "payment_submitted",
  "profile_update",
  "script_create",
  "script_delete",
  "script_update",
  "script_publicize",
  "script_revise",
  "subnet_create",
  "subnet_delete",
  "subnet_update",
  "tag_create",
  "tag_delete",
  "tfa_disabled",
  "tfa_enabled",
  "ticket_attachment_upload",
  "ticket_create",
  "ticket_update",
  "token_create",
  "token_delete",
  "token_update",
  "user_create",
  "user_update",
  "user_delete",
  "user_ssh_key_add",
  "user_ssh_key_delete",
  "user_ssh_key_update",
  "vlan_attach",
  "vlan_detach",
  "volume_attach",
  "volume_clone",
  "volume_create",
  "volume_delete",
  "volume_update",
  "volume_detach",
  "volume_resize",
  "vpc_create",
  "vpc_delete",
  "vpc_update",
];

const anyDatabase: Fields = {
  id: integer,
  label: string,
  engine: string,
  version: string,
  region: string,
  type: string,
  cluster_size: oneOf(1, 3),
  encrypted: boolean,
  allow_list: list(string),
  hosts: object({ primary: string, secondary: string }),
  status: oneOf(
    "provisioning",
    "active",
    "suspending",
    "suspended",
    "resuming",
    "restoring",
    "failed",
    "degraded",
    "updating",
    "backing_up",
  ),
  created: dateTime,
  updated: dateTime,
  // The interface does not show the full set of frequencies.
  updates: object({
    frequency: string,
    duration: integer,
    hour_of_day: integer,
    day_of_week: integer,
    week_of_month: nullable(integer),
  }),
};
const named = { label: string, type: string, url: string };
const entity = object({ id: is("integer", "string"), ...named });

export const objects = {
  DatabaseEngine: {
    engine: string,
    id: string,
    version: string,
    total_disk_size_gb: integer,
    used_disk_size_gb: integer,
  },
  Database: { ...anyDatabase, instance_uri: string },
  MysqlDatabase: {
    ...anyDatabase,
    port: integer,
    replication_type: oneOf("none", "asynch", "semi_synch"),
    ssl_connection: boolean,
    total_disk_size_gb: integer,
    used_disk_size_gb: integer,
  },
  Account: {
    active_promotions: list(
      object({
        credit_monthly_cap: string,
        credit_remaining: string,
        description: string,
        expire_dt: dateTime,
        image_url: string,
        service_type: string,
        summary: string,
        this_month_credit_remaining: string,
      }),
    ),
    active_since: dateTime,
    address_1: string,
    address_2: string,
    balance: number,
    balance_uninvoiced: number,
    billing_source: billingSource,
    capabilities: list(string),
    city: string,
    company: string,
    country: string,
    credit_card: object({ expiry: string, last_four: string }),
    email: string,
    euuid: uuid,
    first_name: string,
    last_name: string,
    phone: string,
    state: string,
    tax_id: string,
    zip: string,
  },
  Availability: { region: string, unavailable: list(string) },
  EntityTransfer: {
    created: dateTime,
    entities: { byKind: list(integer) },
    expiry: dateTime,
    is_sender: boolean,
    status: oneOf("accepted", "canceled", "completed", "failed", "pending", "stale"),
    token: uuid,
    updated: dateTime,
  },
  Event: {
    id: integer,
    action: { known: actions, ours: "database_" },
    created: dateTime,
    duration: number,
    entity,
    secondary_entity: entity,
    message: nullable(string),
    percent_complete: nullable(integer),
    rate: nullable(string),
    read: boolean,
    seen: boolean,
    status: nullable(oneOf("failed", "finished", "notification", "scheduled", "started")),
    time_remaining: nullable(string),
    username: nullable(string),
  },
  Invoice: {
    id: integer,
    label: string,
    date: dateTime,
    billing_source: billingSource,
    subtotal: number,
    tax: number,
    tax_summary: list(object({ name: string, tax: number })),
    total: number,
  },
  InvoiceItem: {
    label: string,
    type: string,
    from: dateTime,
    to: dateTime,
    quantity: integer,
    unit_price: number,
    amount: number,
    tax: number,
    total: number,
    region: string,
  },
  Login: {
    id: integer,
    datetime: dateTime,
    ip,
    restricted: boolean,
    status: oneOf("successful", "failed"),
    username: string,
  },
  // Only compute instances, whose ids are integers.
  MaintenanceItem: {
    entity: object({ id: integer, ...named }),
    reason: string,
    status: string,
    type: string,
    when: dateTime,
  },
  Notification: {
    body: nullable(string),
    entity: nullable(entity),
    label: string,
    message: string,
    severity: string,
    type: string,
    until: nullable(dateTime),
    when: nullable(dateTime),
  },
  OAuthClient: {
    id: string,
    label: string,
    public: boolean,
    redirect_uri: url,
    secret: string,
    status: oneOf("active", "disabled", "suspended"),
    thumbnail_url: nullable(url),
  },
  PaymentMethod: {
    id: integer,
    created: dateTime,
    is_default: boolean,
    type: oneOf("credit_card"),
    data: object({ card_type: string, expiry: string, last_four: string }),
  },
  Image: {
    id: string,
    label: string,
    description: nullable(string),
    capabilities: list(string),
    created: dateTime,
    updated: dateTime,
    created_by: string,
    deprecated: boolean,
    eol: nullable(dateTime),
    expiry: nullable(dateTime),
    is_public: boolean,
    size: integer,
    status: oneOf("creating", "pending_upload", "available"),
    type: oneOf("manual", "automatic"),
    vendor: nullable(string),
  },
} satisfies Record<string, Fields>;
export type ObjectName = keyof typeof objects;

const one = (name: ObjectName): Field => ({ fields: objects[name], name });
/** The envelope of section 2.1. */
const pageOf = (name: ObjectName): Field =>
  object({ data: list(one(name)), page: integer, pages: integer, results: integer });
const nothing = object({});

/** Sections 4.1 to 4.7. The thumbnail, which is bytes, and replies that the interface does not show are missing. */
export const expectedReplies: Readonly<Record<string, Field>> = {
  "GET /v4/databases/engines": pageOf("DatabaseEngine"),
  "GET /v4/databases/engines/:engineId": one("DatabaseEngine"),
  "GET /v4/databases/instances": pageOf("Database"),
  "GET /v4/databases/mysql/instances": pageOf("MysqlDatabase"),
  "POST /v4/databases/mysql/instances": one("MysqlDatabase"),
  "GET /v4/databases/mysql/instances/:instanceId": one("MysqlDatabase"),
  "PUT /v4/databases/mysql/instances/:instanceId": one("MysqlDatabase"),
  "DELETE /v4/databases/mysql/instances/:instanceId": nothing,

  "GET /v4/account": one("Account"),
  "PUT /v4/account": one("Account"),
  "GET /v4/account/availability": pageOf("Availability"),
  "GET /v4/account/availability/:regionId": one("Availability"),
  "POST /v4/account/cancel": object({ survey_link: string }),
  "POST /v4/account/credit-card": nothing,
  "GET /v4/account/entity-transfers": pageOf("EntityTransfer"),
  "POST /v4/account/entity-transfers": one("EntityTransfer"),
  "GET /v4/account/entity-transfers/:token": one("EntityTransfer"),
  "DELETE /v4/account/entity-transfers/:token": nothing,
  "POST /v4/account/entity-transfers/:token/accept": nothing,
  "GET /v4/account/events": pageOf("Event"),
  "GET /v4/account/events/:eventId": one("Event"),
  "POST /v4/account/events/:eventId/read": nothing,
  "POST /v4/account/events/:eventId/seen": nothing,
  "GET /v4/account/invoices": pageOf("Invoice"),
  "GET /v4/account/invoices/:invoiceId": one("Invoice"),
  "GET /v4/account/invoices/:invoiceId/items": pageOf("InvoiceItem"),
  "GET /v4/account/logins": pageOf("Login"),
  "GET /v4/account/logins/:loginId": one("Login"),
  "GET /v4/account/maintenance": pageOf("MaintenanceItem"),
  "GET /v4/account/notifications": pageOf("Notification"),

  "GET /v4/account/oauth-clients": pageOf("OAuthClient"),
  "POST /v4/account/oauth-clients": one("OAuthClient"),
  "GET /v4/account/oauth-clients/:clientId": one("OAuthClient"),
  "PUT /v4/account/oauth-clients/:clientId": one("OAuthClient"),
  "DELETE /v4/account/oauth-clients/:clientId": nothing,
  "POST /v4/account/oauth-clients/:clientId/reset-secret": one("OAuthClient"),
  "PUT /v4/account/oauth-clients/:clientId/thumbnail": nothing,

  "GET /v4/account/payment-methods": pageOf("PaymentMethod"),
  "POST /v4/account/payment-methods": nothing,
  "GET /v4/account/payment-methods/:paymentMethodId": one("PaymentMethod"),
  "DELETE /v4/account/payment-methods/:paymentMethodId": nothing,

  "GET /v4/images": pageOf("Image"),
  "POST /v4/images": one("Image"),
  "POST /v4/images/upload": object({ image: one("Image"), upload_to: string }),
  "GET /v4/images/:imageId": one("Image"),
  "PUT /v4/images/:imageId": one("Image"),
  "DELETE /v4/images/:imageId": nothing,
};

/** How a field can differ from the interface. */
export type Deviation = {
  /** By the object's name and the path in it. */
  fields: readonly string[];
  is: "may be null" | "is never null" | "is not in the interface";
  why: string;
};

/** Every intended difference. */
export const deviations: readonly Deviation[] = [
  {
    fields: [
      "Database.hosts.primary",
      "Database.hosts.secondary",
      "MysqlDatabase.hosts.primary",
      "MysqlDatabase.hosts.secondary",
      "MysqlDatabase.port",
    ],
    is: "may be null",
    why: "the database has no address yet, or was never made",
  },
  {
    fields: ["MysqlDatabase.read_only_port"],
    is: "is not in the interface",
    why: "where the secondaries of three nodes are read from",
  },
  {
    fields: ["MysqlDatabase.engine_config"],
    is: "is not in the interface",
    why: "the Terraform provider of later versions reads it of every MySQL database",
  },
  {
    fields: ["Database.fork", "MysqlDatabase.fork"],
    is: "is not in the interface",
    why: "which database it began as, as it was asked for; tools that compare what they asked for with what is there need it",
  },
  {
    fields: ["MysqlDatabase.oldest_restore_time"],
    is: "is not in the interface",
    why: "from when on the database can be forked",
  },
  {
    fields: ["Database.updates.pending", "MysqlDatabase.updates.pending"],
    is: "is not in the interface",
    why: "what the next maintenance window will change; clients of later versions read it",
  },
  {
    fields: ["Account.active_promotions.expire_dt"],
    is: "may be null",
    why: "the promotion has no end",
  },
  {
    fields: ["Account.credit_card.expiry", "Account.credit_card.last_four"],
    is: "may be null",
    why: "the account has no card",
  },
  {
    fields: ["Availability.available"],
    is: "is not in the interface",
    why: "clients of later versions read it",
  },
  {
    fields: ["Event.secondary_entity"],
    is: "may be null",
    why: "most events concern one thing",
  },
  {
    fields: ["Event.entity.id", "Event.secondary_entity.id", "Notification.entity.id"],
    is: "may be null",
    why: "the account and a profile have no id, and that of a pending transfer is its token, which is a secret",
  },
  {
    fields: ["Event.entity.label", "Event.secondary_entity.label", "Notification.entity.label"],
    is: "may be null",
    why: "transfers, regions and an account without a company have no label",
  },
  {
    fields: ["Event.status"],
    is: "is never null",
    why: "every event has one",
  },
  {
    fields: ["InvoiceItem.region"],
    is: "may be null",
    why: "corrections and credits belong to no region",
  },
  {
    fields: ["Image.tags", "Image.regions", "Image.total_size"],
    is: "is not in the interface",
    why: "clients of later versions fail without them",
  },
];
