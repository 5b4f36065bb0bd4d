import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  authUrl,
  bridgeAddress,
  databaseUrl,
  imageServerDatabaseUrl,
  imageServerUrl,
  dnsApiKey,
  dnsApiUrl,
  fleetUrl,
  hintsUrl,
  loopback,
  paymentsUrl,
  ports,
  prometheusUrl,
  publicUrl,
  region,
  s3Bucket,
  s3Keys,
  s3ProcessKeys,
  s3Url,
  stripeKeys,
  webhookUrl,
  zone,
} from "./addresses.ts";
import { configFile, imageStoresFileOf } from "./config-files.ts";
import { docs } from "./docs.ts";
import { answers, converses, type Probe } from "./health.ts";
import { disksOf, type Host, hostsUpTo } from "./hosts.ts";
import { podmanEnv } from "./image-store.ts";
import { cardAdmissionKey, imageServerKey, keyFile, operatorToken, sha256Hex } from "./keys.ts";
import { enginesDir, inParts, inStack, mailDir, node, repo } from "./paths.ts";
import { podmanOptions } from "./podman.ts";
import { isReady, postgresCommand } from "./postgres.ts";

export type Service = {
  name: string;
  kind: "part" | "control-plane" | "podman" | "agent";
  command: string[];
  env: Record<string, string>;
  address: string;
  /** Undefined: healthy while its process runs. */
  healthy?: Probe;
  /** Files and folders that it runs from; if one of them is newer, `up` restarts the service. */
  sources: string[];
  /** Removed before each start. */
  staleFile?: string;
  /** The signal that ends it quickly and cleanly, if that is not SIGTERM. */
  stopSignal?: "INT";
};

/** Hosts persist: their folders are the list. */
export function hosts(): Host[] {
  const numbers = readdirSync(inStack("hosts"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^\d+$/.test(entry.name))
    .map((entry) => Number(entry.name));
  return hostsUpTo(Math.max(0, ...numbers));
}

export const serviceTable = (image: string): Service[] => [
  ...parts,
  ...controlPlane(),
  ...hosts().flatMap((host) => [podman(host, image), agent(host), gatekeeper(host)]),
];

const packageSource = (name: string): string => join(repo, "packages", name, "src");
const stackProgram = (name: string): string => join(repo, "tools", "stack", `${name}.ts`);
const mailSink = stackProgram("mail-sink");
const fakePayments = stackProgram("fake-payments");
const fakeSource = (name: string): string => join(packageSource("control-plane"), "testing", `fake-${name}.ts`);

/** Any S3-compatible store would do. This one keeps each bucket as a folder. */
const objectStore = (name: string, port: number): Service => ({
  name,
  kind: "part",
  command: [
    inParts("bin", "versitygw"),
    "--port",
    `${bridgeAddress}:${port}`,
    "--quiet",
    "--event-webhook-url",
    hintsUrl,
    "--event-filter",
    configFile.storeEvents,
    "--iam-dir",
    dirname(configFile.storeAccounts),
    "posix",
    "--sidecar",
    inStack("data", name, "sidecar"),
    inStack("data", name, "objects"),
  ],
  env: { ROOT_ACCESS_KEY: s3Keys.access, ROOT_SECRET_KEY: s3Keys.secret },
  address: `${bridgeAddress}:${port}`,
  healthy: answers(`http://${bridgeAddress}:${port}/`, 403), // it refuses a call without a signature
  sources: [configFile.storeEvents, configFile.storeAccounts],
});
const objectStores = [objectStore("s3", ports.s3), objectStore("s3-west", ports.s3West)];
export const objectFolders = objectStores.flatMap(({ name }) => [`data/${name}/objects`, `data/${name}/sidecar`]);

const parts: Service[] = [
  {
    name: "postgres",
    kind: "part",
    command: postgresCommand,
    env: {},
    address: loopback(ports.postgres),
    healthy: isReady,
    sources: [],
    stopSignal: "INT", // SIGTERM waits for clients to disconnect
  },
  {
    name: "valkey",
    kind: "part",
    command: [
      "valkey-server",
      "--bind",
      "127.0.0.1",
      "--port",
      String(ports.valkey),
      "--save",
      "",
      "--appendonly",
      "no",
      "--dir",
      inStack("data"),
    ],
    env: {},
    address: loopback(ports.valkey),
    healthy: converses({ host: "127.0.0.1", port: ports.valkey }, "PING\r\n", "PONG"),
    sources: [],
  },
  ...objectStores,
  {
    name: "dns",
    kind: "part",
    command: ["pdns_server", `--config-dir=${inStack("config")}`],
    env: {},
    address: `${bridgeAddress}:53 ${loopback(ports.dns)}`,
    healthy: answers(`http://${loopback(ports.dnsApi)}/`),
    sources: [configFile.dns],
  },
  {
    name: "prometheus",
    kind: "part",
    command: [
      "prometheus",
      `--config.file=${configFile.prometheus}`,
      `--web.listen-address=${loopback(ports.prometheus)}`,
      `--storage.tsdb.path=${inStack("data", "prometheus")}`,
      "--storage.tsdb.retention.time=30d",
      "--log.level=warn",
    ],
    env: {},
    address: loopback(ports.prometheus),
    healthy: answers(`${prometheusUrl}/-/ready`, 200),
    sources: [configFile.prometheus],
  },
  {
    name: "mail",
    kind: "part",
    command: [node, mailSink],
    env: { MAIL_DIR: mailDir, MAIL_PORT: String(ports.smtp) },
    address: loopback(ports.smtp),
    healthy: converses({ host: "127.0.0.1", port: ports.smtp }, "", "220"),
    sources: [mailSink],
  },
  docs,
  {
    name: "fake-payments",
    kind: "part",
    command: [node, fakePayments],
    env: {
      FAKE_PAYMENTS_PORT: String(ports.payments),
      FAKE_PAYMENTS_WEBHOOK_URL: webhookUrl,
      FAKE_PAYMENTS_WEBHOOK_SECRET: stripeKeys.webhook,
      FAKE_PAYMENTS_FILE: inStack("data", "fake-payments.json"),
    },
    address: loopback(ports.payments),
    healthy: answers(`${paymentsUrl}/health`, 200),
    sources: [fakePayments, ...["cards", "payment-ledger", "payment-provider", "payment-wire"].map(fakeSource)],
  },
  {
    name: "front",
    kind: "part",
    command: ["haproxy", "-db", "-f", configFile.front],
    env: {},
    address: `${loopback(ports.front)} ${loopback(ports.frontAuth)}`,
    healthy: converses({ host: "127.0.0.1", port: ports.front }),
    sources: [configFile.front],
  },
  {
    name: "temporal",
    kind: "part",
    command: [inParts("bin", "temporal-server"), "--config-file", configFile.temporal, "--allow-no-auth", "start"],
    env: {},
    address: loopback(ports.temporal),
    healthy: answers(`http://${loopback(ports.temporalHttp)}/api/v1/system-info`, 200),
    sources: [configFile.temporal],
  },
];

export const controlPlaneSources = ["control-plane", "contract", "crash-points", "disk-image"].map(packageSource);
export const workflowBundle = inStack("workflow-bundle.js");
export const controlPlaneProgram = (name: string): string => join(packageSource("control-plane"), "bin", `${name}.ts`);

/** As an operator starts it (docs/operating): otherwise the heap limit follows the memory of the machine. */
export const apiCommand = (): string[] => [node, "--max-old-space-size=512", controlPlaneProgram("api")];

/** `name`: the process that gets its own keys of the object stores. */
export const controlPlaneEnv = (name?: string): Record<string, string> => ({
  ...storeEnv(name),
  DATABASE_URL: databaseUrl,
  TEMPORAL_ADDRESS: loopback(ports.temporal),
  TEMPORAL_NAMESPACE: "moorage",
  VALKEY_URL: `redis://${loopback(ports.valkey)}`,
  MOORAGE_TRUSTED_PROXIES: "127.0.0.1",
  // Drills send many requests; the limits themselves are tested with separate settings.
  MOORAGE_RATE_LIMITS: "100",
  // On a machine that also runs the tests, event loop lag does not mean that there are too many requests.
  MOORAGE_MAX_LAG_MS: "30000",
  // On such a machine operations take many times as long.
  MOORAGE_PROVISION_DEADLINE_SECONDS: "3600",
  MOORAGE_UPDATE_DEADLINE_SECONDS: "3600",
  MOORAGE_CHANGE_DEADLINE_SECONDS: "3600",
  MOORAGE_CELL: "1",
  MOORAGE_ZONE: zone,
  MOORAGE_DNS_URL: dnsApiUrl,
  MOORAGE_DNS_KEY: dnsApiKey,
  MOORAGE_API_LISTEN: loopback(ports.api),
  MOORAGE_ADMIN_LISTEN: loopback(ports.admin),
  MOORAGE_AUTH_LISTEN: loopback(ports.auth),
  MOORAGE_AUTH_METRICS_LISTEN: loopback(ports.authMetrics),
  MOORAGE_AUTH_URL: authUrl,
  MOORAGE_PUBLIC_URL: publicUrl,
  MOORAGE_SMTP_URL: `smtp://${loopback(ports.smtp)}`,
  MOORAGE_MAIL_FROM: `Moorage <harbour@${zone}>`,
  MOORAGE_WORKER_LISTEN: loopback(ports.worker),
  MOORAGE_FLEET_LISTEN: `${bridgeAddress}:${ports.fleet}`,
  MOORAGE_FLEET_METRICS_LISTEN: loopback(ports.fleetMetrics),
  MOORAGE_FLEET_TLS_DIR: keyFile.tls,
  MOORAGE_DATABASE_CA_DIR: keyFile.databaseCa,
  MOORAGE_KEYS_FILE: keyFile.sealing,
  MOORAGE_S3_URL: s3Url,
  MOORAGE_S3_BUCKET: s3Bucket,
  MOORAGE_IMAGE_SERVER_URL: imageServerUrl,
  // On a bridge of this machine, which hosts reach.
  MOORAGE_HTTP_ALLOWED: "MOORAGE_IMAGE_SERVER_URL",
  MOORAGE_CLEAR_TEXT_ALLOWED: "MOORAGE_S3_URL",
  MOORAGE_IMAGE_SERVER_KEY: imageServerKey(),
  MOORAGE_PROMETHEUS_URL: prometheusUrl,
  MOORAGE_OPERATOR_TOKEN_SHA256: sha256Hex(operatorToken()),
  MOORAGE_WORKFLOW_BUNDLE: workflowBundle,
  MOORAGE_CRASH_DIR: inStack("crash"),
  MOORAGE_CARDS_RAW: "true",
  MOORAGE_CARDS_ADMISSION_LISTEN: loopback(ports.cardAdmission),
  MOORAGE_CARDS_ADMISSION_KEY: cardAdmissionKey(),
  MOORAGE_STRIPE_WEBHOOK_SECRET: stripeKeys.webhook,
  ...stripe,
  LOG_LEVEL: "info",
});

/** Each process has a key of its own for the stores, and `worker` also the one that deletes. */
const storeEnv = (name: string | undefined): Record<string, string> => {
  if (name !== "api" && name !== "fleet" && name !== "worker") return {};
  const { purge, [name]: own } = s3ProcessKeys;
  return {
    MOORAGE_S3_ACCESS_KEY: own.access,
    MOORAGE_S3_SECRET_KEY: own.secret,
    MOORAGE_IMAGE_STORES_FILE: imageStoresFileOf(name),
    ...(name === "worker" && {
      MOORAGE_S3_PURGE_ACCESS_KEY: purge.access,
      MOORAGE_S3_PURGE_SECRET_KEY: purge.secret,
    }),
  };
};

const stripe = {
  MOORAGE_PAYMENT_PROVIDER: "stripe",
  MOORAGE_STRIPE_KEY: stripeKeys.secret,
  MOORAGE_STRIPE_URL: paymentsUrl,
};

/**
 * The whole environment of `cards`: it reaches the card admission listener and the payment provider, and nothing else.
 */
const cardsEnv = (): Record<string, string> => ({
  MOORAGE_TRUSTED_PROXIES: "127.0.0.1",
  MOORAGE_MAX_LAG_MS: "30000",
  MOORAGE_CARDS_LISTEN: loopback(ports.cards),
  MOORAGE_CARDS_METRICS_LISTEN: loopback(ports.cardsMetrics),
  MOORAGE_CARDS_ADMISSION_URL: `http://${loopback(ports.cardAdmission)}`,
  MOORAGE_CARDS_ADMISSION_KEY: cardAdmissionKey(),
  ...stripe,
  LOG_LEVEL: "info",
});

/** No core dump, and no inspector for whoever may send it a signal. */
const cards = (): Service => ({
  name: "cards",
  kind: "control-plane",
  command: ["prlimit", "--core=1:1", "--", node, "--disable-sigusr1", controlPlaneProgram("cards")],
  env: cardsEnv(),
  address: loopback(ports.cards),
  healthy: answers(`http://${loopback(ports.cards)}/ready`, 200),
  sources: controlPlaneSources,
});

/** The image server reads rows and chunks; its only key is the one that signs URLs. */
const imageServer = (): Service => ({
  name: "image-server",
  kind: "control-plane",
  command: [node, controlPlaneProgram("image-server")],
  env: {
    DATABASE_URL: imageServerDatabaseUrl,
    MOORAGE_IMAGE_STORES_FILE: imageStoresFileOf("image-server"),
    MOORAGE_IMAGE_SERVER_LISTEN: `${bridgeAddress}:${ports.imageServer}`,
    MOORAGE_IMAGE_SERVER_METRICS_LISTEN: loopback(ports.imageServerMetrics),
    MOORAGE_IMAGE_SERVER_KEY: imageServerKey(),
    MOORAGE_IMAGE_SERVER_REGION: region,
    LOG_LEVEL: "info",
  },
  address: `${bridgeAddress}:${ports.imageServer}`,
  healthy: answers(`${imageServerUrl}/ready`, 200),
  sources: [...controlPlaneSources, imageStoresFileOf("image-server")],
});

function controlPlane(): Service[] {
  const probes = {
    api: { address: loopback(ports.api), healthy: bothHealthy(ports.api, ports.admin) },
    auth: { address: loopback(ports.auth), healthy: answers(`http://${loopback(ports.auth)}/health`, 200) },
    worker: { address: loopback(ports.worker), healthy: answers(`http://${loopback(ports.worker)}/health`, 200) },
    fleet: { address: `${bridgeAddress}:${ports.fleet}`, healthy: answers(`${fleetUrl}/health`, 200) },
  };
  const processes = Object.entries(probes).map(
    ([name, probe]): Service => ({
      name,
      kind: "control-plane",
      command: name === "api" ? apiCommand() : [node, controlPlaneProgram(name)],
      env: controlPlaneEnv(name),
      ...probe,
      sources: controlPlaneSources,
    }),
  );
  return [...processes, cards(), imageServer()];
}

const bothHealthy =
  (...each: number[]): Probe =>
  async () => {
    const replies = await Promise.all(each.map((port) => answers(`http://${loopback(port)}/health`, 200)()));
    return replies.every(Boolean);
  };

const insideHost = (host: Host): string[] => ["nsenter", `--net=/run/netns/${host.namespace}`, "--"];

const podman = (host: Host, image: string): Service => ({
  name: `podman-${host.number}`,
  kind: "podman",
  command: [
    ...insideHost(host),
    "podman",
    ...podmanOptions(host, image),
    "system",
    "service",
    "--time=0",
    `unix://${host.podmanSocket}`,
  ],
  env: podmanEnv,
  address: host.podmanSocket,
  healthy: converses({ path: host.podmanSocket }, "GET /_ping HTTP/1.0\r\nHost: podman\r\n\r\n", "200 OK"),
  sources: [],
  staleFile: host.podmanSocket,
});

const agent = (host: Host): Service => ({
  name: `agent-${host.number}`,
  kind: "agent",
  command: [...insideHost(host), node, join(packageSource("agent"), "bin", "agent.ts")],
  env: {
    MOORAGE_AGENT_DIR: host.dir,
    MOORAGE_FLEET_URL: fleetUrl,
    MOORAGE_FLEET_CA: keyFile.ca,
    MOORAGE_ENROL_TOKEN_FILE: join(host.dir, "enrol-token"),
    MOORAGE_PODMAN_SOCKET: host.podmanSocket,
    MOORAGE_ENGINES_DIR: enginesDir,
    MOORAGE_OPERATOR_KEY: keyFile.operatorPublic,
    MOORAGE_AGENT_DISKS: disksOf(host),
    MOORAGE_CRASH_DIR: inStack("crash"),
    LOG_LEVEL: "info",
  },
  address: host.address,
  sources: ["agent", "contract", "crash-points", "disk-image"].map(packageSource),
});

/** Real-time priority: it needs little CPU, but what it knows of a member expires within seconds. */
const gatekeeper = (host: Host): Service => ({
  name: `gatekeeper-${host.number}`,
  kind: "agent",
  command: [...insideHost(host), "chrt", "--rr", "1", node, join(packageSource("agent"), "bin", "gatekeeper.ts")],
  env: { MOORAGE_AGENT_DIR: host.dir, MOORAGE_FLEET_CA: keyFile.ca, LOG_LEVEL: "info" },
  address: host.privateAddress,
  sources: ["agent", "contract"].map(packageSource),
});
