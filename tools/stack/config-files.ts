import { operations } from "@moorage/contract";
import { accountsFile } from "@moorage/testkit/store-policies.ts";
import {
  bridgeAddress,
  dnsApiKey,
  imageBucket,
  imageStores,
  loopback,
  ports,
  s3ProcessKeys,
  zone,
} from "./addresses.ts";
import { keyFile } from "./keys.ts";
import { inStack } from "./paths.ts";
import { writeIfChanged } from "./write-if-changed.ts";

export const configFile = {
  front: inStack("config", "haproxy.cfg"),
  temporal: inStack("config", "temporal.yaml"),
  temporalDynamic: inStack("config", "temporal-dynamic.yaml"),
  dns: inStack("config", "pdns.conf"),
  prometheus: inStack("config", "prometheus.yaml"),
  storeEvents: inStack("config", "store-events.json"),
  /** Beside nothing else: the store keeps a backup of it in its folder. */
  storeAccounts: inStack("config", "store-accounts", "users.json"),
};

const storeUsers = ["api", "fleet", "worker", "image-server"] as const;
/** The same stores, with the keys of one process. */
export const imageStoresFileOf = (identity: (typeof storeUsers)[number]): string =>
  inStack("config", `image-stores-${identity}.json`);

export async function writeConfigFiles(): Promise<void> {
  await writeIfChanged(configFile.front, front());
  await writeIfChanged(configFile.temporal, temporal());
  await writeIfChanged(configFile.temporalDynamic, temporalDynamic);
  await writeIfChanged(configFile.dns, dns());
  await writeIfChanged(configFile.prometheus, prometheus());
  for (const identity of storeUsers)
    await writeIfChanged(imageStoresFileOf(identity), imageStoresFile(identity), 0o600);
  await writeIfChanged(configFile.storeAccounts, accountsFile(Object.values(s3ProcessKeys)), 0o600);
  await writeIfChanged(configFile.storeEvents, storeEvents);
}

/**
 * Answers that the front makes itself, in the format of the API's errors. Bytes that are not HTTP at all get HAProxy's
 * built-in page, which cannot be configured.
 */
const refusals: Record<number, string> = {
  400: "Bad request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  408: "Request timed out",
  413: "Request is too large",
  429: "Too many requests",
  500: "Internal server error",
  501: "Not implemented",
  502: "Bad gateway",
  503: "Service unavailable",
  504: "Gateway timed out",
};

const refusalLines = (type: string, body: (reason: string) => string): string =>
  Object.entries(refusals)
    .map(([status, reason]) => `  http-error status ${status} content-type ${type} string '${body(reason)}'`)
    .join("\n");

const cardPaths = (): string => {
  const paths = operations.filter(({ servedBy }) => servedBy === "cards").map(({ path }) => path.slice("/v4".length));
  return `^/v4(beta)?(${paths.join("|")})/?$`;
};

/** Error pages for people who use a browser. */
const refusalPages = (): string =>
  refusalLines(
    "text/html",
    (reason) => `<!doctype html><html lang="en"><title>${reason}</title><h1>${reason}</h1><p>Please try again shortly.`,
  );

const front = (): string => `global
  maxconn 4096
  log stdout format raw local0 info

defaults
  mode http
  log global
  option httplog
  option dontlog-normal
  timeout connect 10s
  timeout client 130s
  timeout server 130s
  timeout http-request 15s
  timeout http-keep-alive 130s
${refusalLines("application/json", (reason) => JSON.stringify({ errors: [{ reason }] }))}

frontend front
  bind ${loopback(ports.front)}
  # A caller's own header must not pass for the address that we saw.
  http-request set-header X-Forwarded-For %[src]
  # What may carry a card goes where cards may be seen, in whatever spelling; all others refuse it unread.
  acl reads method GET HEAD OPTIONS
  acl card_path path,url_dec,regsub(/+,/,g) -m reg ${cardPaths()}
  use_backend cards if card_path !reads
  default_backend api

frontend auth
  bind ${loopback(ports.frontAuth)}
  # No path and no query in a line: some are links that open an account, or carry a code.
  log-format "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %ts"
${refusalPages()}
  http-request set-header X-Forwarded-For %[src]
  default_backend auth

frontend hints
  bind ${loopback(ports.hints)}
  # The stores do not close what they opened.
  option httpclose
  http-request deny status 404 unless { method POST } { path /hints/objects }
  default_backend worker

backend worker
  server worker ${loopback(ports.worker)}

backend api
  server api ${loopback(ports.api)}

backend cards
  server cards ${loopback(ports.cards)}

backend auth
${refusalPages()}
  server auth ${loopback(ports.auth)}
`;

const store = (database: string, connections: number): string => `
      sql:
        pluginName: postgres12_pgx
        databaseName: ${database}
        connectAddr: "${loopback(ports.postgres)}"
        connectProtocol: tcp
        user: postgres
        maxConns: ${connections}
        maxIdleConns: ${connections}
        maxConnLifetime: 1h`;

const rpc = (grpc: number, membership: number, more = ""): string =>
  `{ rpc: { grpcPort: ${grpc}, membershipPort: ${membership}, bindOnIP: 127.0.0.1${more} } }`;

const temporal = (): string => `log: { stdout: true, level: warn }
persistence:
  defaultStore: main
  visibilityStore: visibility
  # Fixed for the life of the store.
  numHistoryShards: 512
  datastores:
    main:${store("temporal", 20)}
    visibility:${store("temporal_visibility", 10)}
global:
  membership: { maxJoinDuration: 30s, broadcastAddress: 127.0.0.1 }
services:
  frontend: ${rpc(ports.temporal, ports.temporalMembership, `, httpPort: ${ports.temporalHttp}`)}
  history: ${rpc(ports.temporalHistory, ports.temporalHistoryMembership)}
  matching: ${rpc(ports.temporalMatching, ports.temporalMatchingMembership)}
  worker: ${rpc(ports.temporalWorker, ports.temporalWorkerMembership)}
clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation:
    active: { enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: "${loopback(ports.temporal)}" }
dcRedirectionPolicy: { policy: noop }
dynamicConfigClient: { filepath: "${configFile.temporalDynamic}", pollInterval: 60s }
`;

// More partitions than there is work for add seconds of latency.
const temporalDynamic = `matching.numTaskqueueReadPartitions: [{ value: 1 }]
matching.numTaskqueueWritePartitions: [{ value: 1 }]
`;

const imageStoresFile = (identity: (typeof storeUsers)[number]): string =>
  JSON.stringify(
    Object.fromEntries(
      Object.entries(imageStores).map(([name, { url, region }]) => [
        name,
        {
          regions: [region],
          url,
          bucket: imageBucket,
          access_key: s3ProcessKeys[identity].access,
          secret_key: s3ProcessKeys[identity].secret,
          ...(identity === "worker" && {
            purge_access_key: s3ProcessKeys.purge.access,
            purge_secret_key: s3ProcessKeys.purge.secret,
          }),
        },
      ]),
    ),
    undefined,
    2,
  );

/** The upload notifications that the stores send; all other kinds are off. */
const storeEvents = JSON.stringify({ "s3:ObjectCreated:Put": true, "s3:ObjectCreated:CompleteMultipartUpload": true });

export const dnsDatabase = inStack("data", "dns", "pdns.sqlite3");

// Caches are off, so that a changed record is visible at once.
const dns = (): string => `launch=gsqlite3
gsqlite3-database=${dnsDatabase}
local-address=${bridgeAddress}:53,${loopback(ports.dns)}
socket-dir=${inStack("data", "dns")}
daemon=no
guardian=no
api=yes
api-key=${dnsApiKey}
webserver=yes
webserver-address=127.0.0.1
webserver-port=${ports.dnsApi}
webserver-loglevel=none
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
security-poll-suffix=
default-soa-content=ns1.${zone}. hostmaster.@ 0 10800 3600 604800 5
`;

// `honor_labels` keeps the `database` label that the exported metrics already have. The scrape interval is shorter than
// the hosts' report interval, so that plots lag little.
const prometheus = (): string => `global: { scrape_interval: 15s, scrape_timeout: 4s }
scrape_configs:
  - job_name: databases
    scrape_interval: 5s
    metrics_path: /databases
    honor_labels: true
    static_configs: [{ targets: ["${loopback(ports.fleetMetrics)}"] }]
  - job_name: moorage
    static_configs:
      - targets: [${[ports.worker, ports.fleetMetrics, ports.authMetrics, ports.cardsMetrics, ports.imageServerMetrics].map((port) => `"${loopback(port)}"`).join(", ")}]
  - job_name: moorage-api
    authorization: { credentials_file: "${keyFile.operatorToken}" }
    static_configs: [{ targets: ["${loopback(ports.admin)}"] }]
`;
