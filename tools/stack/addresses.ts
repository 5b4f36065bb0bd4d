import type { StoreIdentity, StoreKey } from "@moorage/testkit/store-policies.ts";
import { slot } from "./slot.ts";

/** Every listening port of the unnamed stack. Below 32768 (ephemeral) and outside 20000–32285 (nodes). */
const unnamedPorts = {
  postgres: 15432,
  temporal: 17233,
  temporalHttp: 17243,
  temporalHistory: 17234,
  temporalMatching: 17235,
  temporalWorker: 17239,
  temporalMembership: 16933,
  temporalHistoryMembership: 16934,
  temporalMatchingMembership: 16935,
  temporalWorkerMembership: 16939,
  valkey: 16379,
  s3: 17070,
  s3West: 17071,
  dns: 15353,
  dnsApi: 18081,
  front: 18080,
  frontAuth: 18082,
  api: 18090,
  admin: 18091,
  worker: 18092,
  fleetMetrics: 18094,
  prometheus: 18095,
  auth: 18096,
  authMetrics: 18097,
  cards: 18098,
  cardsMetrics: 18099,
  cardAdmission: 18100,
  payments: 18101,
  traces: 18102,
  imageServer: 18103,
  imageServerMetrics: 18104,
  hints: 18105,
  smtp: 18025,
  fleet: 18443,
  docs: 18106,
};
type Ports = typeof unnamedPorts;

/** A named stack has a hundred ports between those of the unnamed stack and 20000. */
const portsOfSlot = (): Ports =>
  Object.fromEntries(Object.keys(unnamedPorts).map((name, index) => [name, 18_400 + 100 * slot + index])) as Ports;
export const ports = slot === 0 ? unnamedPorts : portsOfSlot();

export const loopback = (port: number): string => `127.0.0.1:${port}`;

/** The name of a link or namespace; a link name has at most 15 characters. */
export const netName = (what: string): string => `moor${slot === 0 ? "" : slot}-${what}`;
export const bridge = `moor${slot}`;

/** The first half of the IPv4 addresses on the bridge that all simulated hosts and clients share. */
const network4 = `10.${127 - slot}`;
export const inNetwork4 = (group: number, number: number): string => `${network4}.${group}.${number}`;
/** The control plane's address on the bridge. */
export const bridgeAddress = inNetwork4(0, 1);
/** The IPv6 prefix of the same network; clients are at ::c:1 and ::c:2, hosts at ::a:1 and up. */
const network6 = slot === 0 ? "fd6d:6f6f:7261::" : `fd6d:6f6f:7261:${slot.toString(16)}::`;
export const bridgeAddress6 = `${network6}1`;
export const inNetwork6 = (group: "a" | "c", number: number): string => `${network6}${group}:${number.toString(16)}`;

export const zone = "moorage.test";
export const region = "eu-central";
/** A region without hosts, which has an image store of its own. */
export const secondRegion = "eu-west";
/** A role that can only read the image tables. */
export const imageServerRole = "moorage_image_server";
export const imageServerDatabaseUrl = `postgres://${imageServerRole}@${loopback(ports.postgres)}/moorage`;
export const databaseUrl = `postgres://moorage@${loopback(ports.postgres)}/moorage`;
/** The address that browsers use. A hostname, because a passkey cannot be bound to an IP address. */
export const authUrl = `http://localhost:${ports.frontAuth}`;
export const publicUrl = `http://${loopback(ports.front)}`;
export const adminUrl = `http://${loopback(ports.admin)}`;
export const fleetUrl = `https://${bridgeAddress}:${ports.fleet}`;
export const dnsApiUrl = `http://${loopback(ports.dnsApi)}`;

export const prometheusUrl = `http://${loopback(ports.prometheus)}`;
/** On the bridge: hosts upload and download archive objects there with presigned URLs. */
export const s3Url = `http://${bridgeAddress}:${ports.s3}`;
export const s3Bucket = "moorage-archive";
/** Tenants upload their images there too, from any network. */
export const imageStores = {
  central: { url: s3Url, region },
  west: { url: `http://${bridgeAddress}:${ports.s3West}`, region: secondRegion },
};
export const imageBucket = "moorage-images";
/**
 * Where the stores send their upload notifications. They go through the front, because the stores do not start unless
 * something listens.
 */
export const hintsUrl = `http://${loopback(ports.hints)}/hints/objects`;
/** On the bridge: hosts deploy images from it. */
export const imageServerUrl = `http://${bridgeAddress}:${ports.imageServer}`;

export const docsUrl = `http://${loopback(ports.docs)}`;
/** The fake payment provider. */
export const paymentsUrl = `http://${loopback(ports.payments)}`;
export const webhookUrl = `${publicUrl}/webhooks/stripe`;

/** Keys of servers in a development stack that only this machine and its namespaces reach. */
export const dnsApiKey = "stack-dns-key";
export const stripeKeys = { secret: "sk_test_fake", webhook: "whsec_fake" };
/** Of the stack and its tests: everything. */
export const s3Keys = { access: "stack-access", secret: "stack-secret-key" };
const keyOf = (identity: StoreIdentity): StoreKey => ({
  access: `stack-${identity}`,
  secret: `stack-${identity}-secret-key`,
});
/** Of each process, with the rights that docs/operating/object-store.md gives it. */
export const s3ProcessKeys: Record<StoreIdentity, StoreKey> = {
  api: keyOf("api"),
  fleet: keyOf("fleet"),
  worker: keyOf("worker"),
  "image-server": keyOf("image-server"),
  purge: keyOf("purge"),
};
