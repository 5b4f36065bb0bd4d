/** A common mistake, and what the answer must contain: the problem, and something that is valid. */
export type Mistake = {
  what: string;
  method?: "GET" | "POST" | "PUT" | "DELETE" | "PATCH";
  path: string;
  /** An object is sent as JSON, a text unchanged. */
  body?: object | string;
  headers?: Record<string, string>;
  /** Whose token is sent. */
  by?: "owner" | "reader" | "restricted" | "nobody" | "expired" | "revoked";
  status: number;
  field?: string;
  names: readonly string[];
};

const INSTANCES = "/v4/databases/mysql/instances";
const whole = { label: "orders", region: "eu-central", type: "m1-small", engine: "mysql/9.7.4" };
const create = (what: string, change: object, rest: Pick<Mistake, "field" | "names">): Mistake => ({
  what,
  method: "POST",
  path: INSTANCES,
  body: { ...whole, ...change },
  status: 400,
  ...rest,
});
const update = (what: string, body: object, rest: Pick<Mistake, "field" | "names">, which = ":active"): Mistake => ({
  what,
  method: "PUT",
  path: `${INSTANCES}/${which}`,
  body,
  status: 400,
  ...rest,
});
const act = (what: string, path: string, names: readonly string[], body?: object): Mistake => ({
  what,
  method: "POST",
  path: `${INSTANCES}/${path}`,
  status: 400,
  names,
  ...(body === undefined ? {} : { body }),
});
const list = (what: string, query: string, rest: Pick<Mistake, "field" | "names" | "headers">): Mistake => ({
  what,
  path: `${INSTANCES}${query}`,
  status: 400,
  ...rest,
});
const filter = (what: string, text: string, names: readonly string[]): Mistake =>
  list(what, "", { headers: { "x-filter": text }, field: "X-Filter", names });

/** `:active`, `:suspended` and `:cluster` in a path are existing databases. */
export const mistakes: readonly Mistake[] = [
  {
    what: "no token",
    path: INSTANCES,
    by: "nobody",
    status: 401,
    names: ["no token was sent", "Authorization: Bearer"],
  },
  {
    what: "an expired token",
    path: INSTANCES,
    by: "expired",
    status: 401,
    names: ["expired at", "Create another token"],
  },
  {
    what: "a revoked token",
    path: INSTANCES,
    by: "revoked",
    status: 401,
    names: ["revoked at", "Create another token"],
  },
  {
    what: "Basic in place of Bearer",
    path: INSTANCES,
    by: "nobody",
    status: 401,
    headers: { authorization: "Basic YTpi" },
    names: ["only the scheme Bearer", "Authorization: Bearer"],
  },
  {
    what: "a token that was cut short",
    path: INSTANCES,
    by: "nobody",
    status: 401,
    headers: { authorization: "Bearer 0123abcd" },
    names: ["64 hexadecimal digits"],
  },
  {
    what: "a token of another installation",
    path: INSTANCES,
    by: "nobody",
    status: 401,
    headers: { authorization: `Bearer ${"0".repeat(64)}` },
    names: ["unknown", "another installation"],
  },
  {
    what: "a token in the query string",
    path: `${INSTANCES}?token=abc`,
    by: "nobody",
    status: 401,
    names: ["query string", "Authorization: Bearer"],
  },
  {
    what: "a token without the scope",
    method: "POST",
    path: INSTANCES,
    body: whole,
    by: "reader",
    status: 401,
    names: ["databases:read_write"],
  },
  {
    what: "a user without the grant",
    method: "POST",
    path: INSTANCES,
    body: whole,
    by: "restricted",
    status: 403,
    names: ["add_databases"],
  },

  { what: "the root", path: "/", status: 404, names: ["no such path", "/v4", "/docs"] },
  {
    what: "no version in the path",
    path: "/databases/mysql/instances",
    status: 404,
    names: ["begin with /v4", "/docs"],
  },
  {
    what: "a word of a path misspelt",
    path: "/v4/database/mysql/instances",
    status: 404,
    names: ["databases", "/docs"],
  },
  {
    what: "an action that is none",
    method: "POST",
    path: `${INSTANCES}/:active/reboot`,
    status: 404,
    names: ["suspend", "/docs"],
  },
  { what: "another engine", path: "/v4/databases/postgresql/instances", status: 404, names: ["Only MySQL"] },
  { what: "a label for an id", path: `${INSTANCES}/tn-orders`, status: 404, names: ["tn-orders", "is a number"] },
  {
    what: "a database that is not there",
    path: `${INSTANCES}/4711`,
    status: 404,
    names: ["database 4711", `GET ${INSTANCES}`],
  },
  {
    what: "a backup that is not there",
    path: `${INSTANCES}/:active/backups/7`,
    status: 404,
    names: ["backup 7", "lists"],
  },
  {
    what: "a metric that is none",
    path: `${INSTANCES}/:active/metrics/cpu`,
    status: 404,
    names: ["metric cpu", "cpu_cores"],
  },
  {
    what: "a method that is none",
    method: "PATCH",
    path: `${INSTANCES}/:active`,
    status: 405,
    names: ["PATCH", "PUT"],
  },

  {
    what: "JSON with a comma too many",
    method: "POST",
    path: INSTANCES,
    body: '{"label": "orders",}',
    status: 400,
    names: ["JSON", "1"],
  },
  { what: "a list for an object", method: "POST", path: INSTANCES, body: "[]", status: 400, names: ["object"] },
  {
    what: "a form for JSON",
    method: "POST",
    path: INSTANCES,
    body: "label=orders",
    status: 400,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    names: ["application/json"],
  },
  {
    what: "nothing of what is needed",
    method: "POST",
    path: INSTANCES,
    body: {},
    status: 400,
    names: ["label", "region", "type", "engine"],
  },
  {
    what: "everything wrong at once",
    method: "POST",
    path: INSTANCES,
    status: 400,
    body: { label: "x", region: "mars", type: "huge", engine: "oracle", cluster_size: 2, allow_list: ["home"] },
    names: ["label", "eu-central", "m1-small", "mysql/9.7.4", "1 or 3", "allow_list"],
  },

  create("a label that is too short", { label: "ab" }, { field: "label", names: ["3 to 32"] }),
  create("a label that is too long", { label: "a".repeat(33) }, { field: "label", names: ["3 to 32"] }),
  create("a label that is taken", { label: "taken" }, { field: "label", names: ["unique", "taken"] }),
  create("a region that is none", { region: "mars" }, { field: "region", names: ["eu-central"] }),
  create("an engine that is none", { engine: "mysql/5.7" }, { field: "engine", names: ["mysql/9.7.4"] }),
  create("an engine without its version", { engine: "mysql" }, { field: "engine", names: ["mysql/9.7.4"] }),
  create("a type that is none", { type: "g6-nanode-1" }, { field: "type", names: ["m1-small"] }),
  create("two nodes", { cluster_size: 2 }, { field: "cluster_size", names: ["1 or 3"] }),
  create("a number as text", { cluster_size: "3" }, { field: "cluster_size", names: ["1 or 3"] }),
  create("three nodes of a type for one", { cluster_size: 3 }, { field: "type", names: ["m2-medium", "three nodes"] }),
  create("yes for true", { encrypted: "yes" }, { field: "encrypted", names: ["true or false"] }),
  create(
    "a kind of replication that is none",
    { replication_type: "sync" },
    { field: "replication_type", names: ["semi_synch"] },
  ),
  create("an address for a list", { allow_list: "203.0.113.7" }, { field: "allow_list", names: ["a list"] }),
  create(
    "a prefix that is too long",
    { allow_list: ["10.0.0.0/33"] },
    { field: "allow_list[0]", names: ["10.0.0.0/33", "32"] },
  ),
  create("a range with host bits", { allow_list: ["10.0.0.1/8"] }, { field: "allow_list[0]", names: ["10.0.0.0/8"] }),
  create(
    "a name for an address",
    { allow_list: ["my.laptop"] },
    { field: "allow_list[0]", names: ["my.laptop", "IPv4"] },
  ),
  create("a field misspelt", { allowlist: ["203.0.113.7"] }, { field: "allowlist", names: ["allow_list"] }),
  create("encryption misspelt", { encripted: true }, { field: "encripted", names: ["encrypted"] }),
  create(
    "settings of the engine",
    { engine_config: { mysql: { sql_mode: "ANSI" } } },
    { field: "engine_config.mysql.sql_mode", names: ["cannot be set", "Leave the field out"] },
  ),
  create("a fork of nothing", { fork: { source: 4711 } }, { field: "fork.source", names: ["4711"] }),
  create(
    "a fork of the future",
    { fork: { source: ":active", restore_time: "2099-01-01T00:00:00" } },
    { field: "fork.restore_time", names: ["from", "to"] },
  ),
  create(
    "a time that is none",
    { fork: { source: ":active", restore_time: "yesterday" } },
    { field: "fork.restore_time", names: ["2"] },
  ),

  update("another version", { version: "8.0.30" }, { field: "version", names: ["9.7.4"] }),
  update("another region", { region: "us-east" }, { field: "region", names: ["eu-central"] }),
  update(
    "an hour of the day that is none",
    { updates: { hour_of_day: 25 } },
    { field: "updates.hour_of_day", names: ["0 to 23"] },
  ),
  update(
    "a day of the week that is none",
    { updates: { day_of_week: 0 } },
    { field: "updates.day_of_week", names: ["1 to 7"] },
  ),
  update("a smaller type", { type: "m1-small" }, { field: "type", names: ["m2-medium"] }, ":cluster"),
  update(
    "three nodes for one",
    { cluster_size: 3 },
    { field: "cluster_size", names: ["it stays 1", "leave the field out"] },
  ),
  update(
    "a change of what is suspended",
    { allow_list: ["203.0.113.7"] },
    { names: ["suspended", "active"] },
    ":suspended",
  ),
  act("resume of what is active", ":active/resume", ["active", "suspended"]),
  act("a switchover of one node", ":active/switchover", ["three nodes"]),

  list("a page that is too small", "?page_size=10", { field: "page_size", names: ["25", "500"] }),
  list("a page before the first", "?page=0", { field: "page", names: ["1"] }),
  filter("a filter by a field that is none", '{"colour": "red"}', ["colour", "label"]),
  filter("an operator that is none", '{"label": {"+like": "x"}}', ["+like", "+contains"]),
  filter("a filter that is no JSON", "label=orders", ["valid JSON", '{"label": "orders"}']),
];
