import { randomBytes, randomUUID } from "node:crypto";
import type { MysqlDatabase } from "@moorage/contract";
import type { NodeReport, NodeSpec, PrimaryChange } from "@moorage/contract/agent";
import { readSettings } from "@moorage/contract/settings";
import { selfSigned } from "@moorage/testkit/certificates.ts";
import type { Client } from "@temporalio/client";
import type { InjectOptions } from "fastify";
import { sql } from "kysely";
import { inject } from "vitest";
import { createPrometheus } from "#databases/index.ts";
import type { DnsServer } from "#dns/index.ts";
import { archiveSettings as ARCHIVE } from "#databases/model/settings.ts";
import { observe } from "#fleet/observe.ts";
import { derivationSecret } from "#fleet/index.ts";
import { sealSpec } from "#fleet/told.ts";
import { checkPhase } from "#fleet/check-phase.ts";
import { createAuthenticate, createTokenCache } from "#identity/index.ts";
import {
  checkUploads,
  copyNext,
  createPurgingImageStores,
  type ImageSettings,
  imageLimitSettings,
  imageSettingsOf,
  type PurgingImageStores,
  runImporter,
} from "#images/index.ts";
import { findOperation } from "#operations/index.ts";
import type { CardVault, ChargeProvider } from "#payment-provider/index.ts";
import { createDb, createPool, type Timeouts } from "#platform/db/database.ts";
import { createEachDue } from "#platform/each-due.ts";
import { createIdempotencySecrets } from "#platform/http/idempotency.ts";
import type { Bounds } from "#platform/http/shed.ts";
import { createNoRateLimiter, type RateLimiter } from "#platform/limits/rate-limiter.ts";
import { rateLimitSettings, rateLimitsOf } from "#platform/limits/settings.ts";
import { createLog } from "#platform/log.ts";
import type { PurgingStore } from "#platform/purging-store.ts";
import { createSealer, type KeyRing } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import { activitiesOf, type WorkerPart } from "#platform/worker-part.ts";
import { createPasswordLinks } from "#sign-in/choose-password.ts";
import { createOperatorApi, createTenantApi, type GivenDeps } from "../api.ts";
import { workerParts } from "../compose-worker.ts";
import { createLazyPaymentProvider } from "./lazy-payment-provider.ts";
import { nextSequence } from "./next-sequence.ts";
import { seenBy } from "./simulated-agent.ts";
import { createWorldCards } from "./world-cards.ts";

export const REGION = "eu-central";
export const PLAN = "m1-small";
export const ENGINE = "mysql/9.7.4";
export const ZONE = "moorage.test";
export const PUBLIC_URL = "https://api.moorage.test";
export const AUTH_URL = "https://login.moorage.test";
export const OPERATOR_TOKEN = "operator";
const CHANGE_SECONDS = 900;
/** A workflow compares its deadline with the real time, while the time of its world stands still. */
export const UPDATE_SECONDS = 1200;
/** For a connection to Postgres on a busy machine. */
const PATIENCE_MS = 180_000;
export const HOST_SILENT_SECONDS = 300;
export const IMAGE_SERVER = {
  url: "https://image-server.moorage.test",
  key: "a key of the image server, for tests alone",
};
export const SURVEY_URL = "https://survey.moorage.test";
export const CLOSED_ACCOUNT_DAYS = 30;
export { ARCHIVE };

type HostOptions = {
  memory_mb?: number;
  disk_mb?: number;
  failure_domain?: string;
  address6?: string;
  private_address?: string;
};
export type Reply<Body = Record<string, unknown>> = { status: number; headers: Record<string, unknown>; body: Body };

/** A control plane with its own database, cloned from the migrated template. The test sets the time. */
export type WorldSettings = {
  existingCustomersOnly?: boolean;
  sslConnectionIfOmitted?: boolean;
  /** The addresses of the databases of another server, which has a `template`. */
  postgres?: (database: string) => string;
  /** No region has a host until the test adds one. */
  withoutHosts?: boolean;
  databaseCa?: string;
  prometheusUrl?: string;
  undeleteDays?: number;
  replacementsPerRegion?: number;
  silentHostsPercent?: number;
  /** Like a process that is notified of revocations. Here no notification arrives. */
  rememberTokens?: boolean;
  /** Instead of the fake one. */
  provider?: ChargeProvider | "none";
  vault?: CardVault;
  cardsRaw?: boolean;
  cardsPerDay?: number;
  invitationsPerDay?: number;
  images?: Partial<ImageSettings>;
  /** Instead of one that only signs addresses. */
  imageStores?: PurgingImageStores;
  imageServer?: "none";
  /** Where people sign in, if a server listens there. */
  authUrl?: string;
  /** Instead of none. */
  limiter?: RateLimiter;
  /** Instead of bounds that no test reaches. */
  bounds?: Partial<Bounds>;
  /** Instead of none. */
  timeouts?: Timeouts;
  /** The test may replace its keys, as an operator who then restarts all processes. */
  keyRing?: KeyRing;
  /** Instead of none: what jobs call. */
  archivePurge?: PurgingStore;
  dnsServer?: DnsServer;
  temporal?: Client;
  /** Instead of the importer process. */
  runImporter?: typeof runImporter;
};

export const newKey = (): string => randomBytes(32).toString("base64");
const newKeyRing = (): KeyRing => ({ current: "k1", keys: { k1: newKey() } });

const nowhere = (): PurgingImageStores =>
  createPurgingImageStores(
    {
      default: {
        regions: [],
        url: "http://127.0.0.1:9",
        region: "us-east-1",
        bucket: "images",
        access_key: "nobody",
        secret_key: "nothing",
      },
    },
    24,
  );

/** One for all worlds of a file: each world signs its own certificates. */
let databaseAuthority: ReturnType<typeof selfSigned> | undefined;

export async function newWorld(settings: WorldSettings = {}) {
  const urlOf = settings.postgres ?? ((database: string) => `${inject("postgresUrl")}/${database}`);
  const name = `world_${randomUUID().replaceAll("-", "")}`;
  /** A server may end during a test. */
  const poolOf = (url: string, most: number, timeouts?: Timeouts) =>
    createPool(url, most, { ...timeouts, patienceMs: PATIENCE_MS }).on("error", () => {});
  const admin = poolOf(urlOf("postgres"), 1);
  // By copying files: through the WAL, the default, every page would be written twice.
  await admin.query(`create database ${name} template template strategy file_copy`);
  const databaseUrl = urlOf(name);
  const db = createDb(poolOf(databaseUrl, 10, settings.timeouts));
  // A clone looks like a restored copy, which would wait for its hosts.
  await sql`update installation set (fingerprint, noticed_fingerprint, charges_fingerprint) =
    (select here, here, here from current_fingerprint() as here)`.execute(db);
  const time = { now: new Date(Math.floor(Date.now() / 1000) * 1000) };
  const clock = () => time.now;
  const log = createLog("test", "silent");
  const sealer = createSealer(settings.keyRing ?? newKeyRing());
  await derivationSecret(db, sealer);
  const databaseCa = await (databaseAuthority ??= selfSigned("CN=test databases", { authority: true }));
  const nudges = { relay: 0 };
  const tokens = createTokenCache(clock);
  if (settings.rememberTokens === true) tokens.open();
  const payments = createLazyPaymentProvider();
  const imageStores = settings.imageStores ?? nowhere();
  const given: GivenDeps = {
    db,
    clock,
    log,
    sealer,
    authenticate: createAuthenticate({ db, clock, tokens }),
    nudgeRelay: () => {
      nudges.relay++;
    },
    provisionDeadlineSeconds: 900,
    updateDeadlineSeconds: UPDATE_SECONDS,
    changeDeadlineSeconds: CHANGE_SECONDS,
    deleteDeadlineSeconds: 86_400,
    backupDeadlineSeconds: 3600,
    restoreDeadlineSeconds: 3600,
    undeleteDays: settings.undeleteDays ?? 7,
    dailyBackupsKept: 7,
    existingCustomersOnly: settings.existingCustomersOnly ?? false,
    sslConnectionIfOmitted: settings.sslConnectionIfOmitted ?? true,
    closedAccountDays: CLOSED_ACCOUNT_DAYS,
    surveyUrl: SURVEY_URL,
    publicUrl: PUBLIC_URL,
    authUrl: settings.authUrl ?? AUTH_URL,
    zone: ZONE,
    databaseCa: settings.databaseCa ?? databaseCa.certificate,
    prometheus: createPrometheus(settings.prometheusUrl),
    issuer: { name: "Harbour Hosting", address: ["Quay 1", "20457 Hamburg"] },
    limiter: settings.limiter ?? createNoRateLimiter(rateLimitsOf(readSettings(rateLimitSettings, {}))),
    idempotencySecrets: createIdempotencySecrets(newKeyRing()),
    provider: settings.provider === "none" ? undefined : (settings.provider ?? payments.provider),
    cardsRaw: settings.cardsRaw ?? true,
    invitationsPerDay: settings.invitationsPerDay ?? 500,
    cardsPerDay: settings.cardsPerDay ?? 60,
    images: { ...imageSettingsOf(readSettings(imageLimitSettings, {})), ...settings.images },
    imageStores,
    thumbnailSeconds: 600,
  };
  const bounds = {
    maxInFlight: 500,
    maxLagMs: 60_000,
    drainMs: 1000,
    trustedProxies: false as const,
    ...settings.bounds,
  };
  const tenants = createTenantApi(log, given, { ...bounds, check: () => sql`select 1`.execute(db) });
  const cards = createWorldCards(log, given, { ...bounds, vault: settings.vault ?? payments.vault });
  /** Like the proxy in front. */
  const serverOf = (method: string, path: string) => (cards.takes(method, path) ? cards.server() : tenants);
  const operators = createOperatorApi(log, {
    db,
    clock,
    sealer,
    zone: ZONE,
    archive: ARCHIVE,
    undeleteDays: settings.undeleteDays ?? 7,
    restoreDeadlineSeconds: 3600,
    makePasswordLink: createPasswordLinks({ clock, authUrl: AUTH_URL }),
    operatorTokenSha256: sha256(OPERATOR_TOKEN).toString("hex"),
    imageServer: settings.imageServer === "none" ? undefined : IMAGE_SERVER,
    images: given.images,
  });

  const call = async <Body>(
    side: "tenants" | "operators",
    token: string | undefined,
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
  ): Promise<Reply<Body>> => {
    const app = side === "operators" ? operators : serverOf(method, path);
    const reply = await app.inject({
      method,
      url: path,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    return {
      status: reply.statusCode,
      headers: reply.headers,
      body: (reply.payload === "" ? undefined : reply.json()) as Body,
    };
  };
  const operator = {
    post: <Body = Record<string, unknown>>(path: string, body: object) =>
      call<Body>("operators", OPERATOR_TOKEN, "POST", path, body),
    get: <Body = Record<string, unknown>>(path: string) => call<Body>("operators", OPERATOR_TOKEN, "GET", path),
    put: <Body = Record<string, unknown>>(path: string, body: object) =>
      call<Body>("operators", OPERATOR_TOKEN, "PUT", path, body),
  };
  await operator.post("/admin/regions", { id: REGION, label: "Frankfurt", country: "de" });
  await operator.post("/admin/plans", {
    id: PLAN,
    label: "Small",
    class: "standard",
    memory_mb: 1024,
    disk_mb: 10_240,
    vcpus: 1,
  });
  await operator.post("/admin/engines", { id: ENGINE, image: "a".repeat(64), prepared: "b".repeat(64) });

  let people = 0;
  /** A region without an active host accepts no databases. This host has no room; the first real one replaces it. */
  const ensureHost = async (): Promise<void> => {
    if (settings.withoutHosts === true) return;
    await sql`insert into hosts (name, region, failure_domain, address, node_network, state, memory_mb, disk_mb, vcpus, created_at)
      select 'full', ${REGION}, 'full', '10.127.255.254', '10.191.240.0/20', 'active', 1, 1, 1, ${time.now}::timestamptz
      where not exists (select from hosts where region = ${REGION} and state = 'active')
      on conflict do nothing`.execute(db);
  };
  const as = (token: string | undefined) => ({
    get: <Body = Record<string, unknown>>(path: string) => call<Body>("tenants", token, "GET", path),
    post: <Body = Record<string, unknown>>(path: string, body?: unknown) =>
      call<Body>("tenants", token, "POST", path, body),
    put: <Body = Record<string, unknown>>(path: string, body: unknown) =>
      call<Body>("tenants", token, "PUT", path, body),
    delete: (path: string) => call("tenants", token, "DELETE", path),
    create: (change: object = {}) =>
      call<MysqlDatabase>("tenants", token, "POST", "/v4/databases/mysql/instances", {
        label: `db-${randomBytes(4).toString("hex")}`,
        region: REGION,
        type: PLAN,
        engine: ENGINE,
        ...change,
      }),
  });

  const newUser = async (accountId: number, options: { restricted?: boolean; scopes?: string[] } = {}) => {
    const username = `user-${++people}`;
    const users = `/admin/accounts/${accountId}/users`;
    await operator.post(users, {
      username,
      email: `${username}@test.example`,
      restricted: options.restricted ?? false,
    });
    const issued = await operator.post<{ token: string }>(`${users}/${username}/tokens`, {
      label: "test",
      scopes: options.scopes ?? ["*"],
    });
    const { token } = issued.body;
    const user = await db.selectFrom("users").select("id").where("username", "=", username).executeTakeFirstOrThrow();
    return { ...as(token), token, accountId, userId: user.id, username };
  };

  const registerHost = async (options: HostOptions = {}) => {
    await sql`delete from hosts where name = 'full'`.execute(db);
    const n = ++people;
    const host = { name: `host-${n}`, failure_domain: options.failure_domain ?? `rack-${n}` };
    const reply = await operator.post<{ id: number; enrol_token: string }>("/admin/hosts", {
      ...host,
      region: REGION,
      address: `10.127.0.${n}`,
      address6: options.address6,
      private_address: options.private_address,
      node_network: `10.128.${n * 16}.0/20`,
      memory_mb: options.memory_mb ?? 65_536,
      disk_mb: options.disk_mb ?? 1_048_576,
      vcpus: 16,
    });
    return { ...host, ...reply.body };
  };
  const { eachDue, stuck } = createEachDue({ clock, log });
  const parts = workerParts({
    ...given,
    imageStores,
    eachDue,
    archive: ARCHIVE,
    hostSilentSeconds: HOST_SILENT_SECONDS,
    replacementsPerRegion: settings.replacementsPerRegion ?? 20,
    // The worlds of most tests have few hosts.
    silentHostsPercent: settings.silentHostsPercent ?? 100,
    runImporter: settings.runImporter ?? runImporter,
    archivePurge: settings.archivePurge ?? absent("object store"),
    dnsServer: settings.dnsServer ?? absent("DNS server"),
    temporal: settings.temporal ?? absent("Temporal server"),
    invoiceDelaySeconds: 0,
    accountsEach: 1000,
  });
  const activities = activitiesOf(parts);
  const jobs = Object.assign(
    {},
    ...Object.values<WorkerPart>(parts).flatMap((part) => [...Object.values(part.jobs ?? {}), part.proofs]),
  ) as Record<JobName<typeof parts>, () => Promise<void>>;

  return {
    db,
    databaseUrl,
    clock,
    sealer,
    eachDue,
    /** By job, how many rows failed in their last try. */
    stuck,
    databaseCa,
    images: given.images,
    imageStores,
    time,
    nudges,
    operator,
    /** For what a well-behaved client would not send. */
    send: (request: InjectOptions & { url: string }) => serverOf(request.method ?? "GET", request.url).inject(request),
    sendToCardAdmission: (request: InjectOptions) => cards.cardAdmission().inject(request),
    sendToOperators: operators.inject.bind(operators),
    anonymous: as(undefined),
    chargeProvider: given.provider,
    /** The fake payment provider. */
    payments: payments.fake,
    as,

    /** A user with a token, in a new account. */
    async customer(options: { restricted?: boolean; scopes?: string[]; limits?: object } = {}) {
      await ensureHost();
      const n = ++people;
      const limits = { databases: 10, nodes: 10, memory_mb: 102_400, disk_mb: 1_024_000, ...options.limits };
      const account = await operator.post<{ id: number }>("/admin/accounts", {
        company: `Company ${n}`,
        email: `owner-${n}@test.example`,
        limits,
      });
      return newUser(account.body.id, options);
    },
    /** Another user of the same account. */
    colleague: newUser,

    registerHost,

    /** A compute instance of an account, as the operator registers it. */
    async compute(accountId: number, change: { label?: string; region?: string; host?: string } = {}) {
      const body = { label: `compute-${++people}`, region: REGION, ...change };
      const reply = await operator.post<{ id: number; label: string }>(`/admin/accounts/${accountId}/computes`, body);
      return reply.body;
    },

    /** An enrolled host that was just seen. `report` sets what it runs. */
    async host(options: HostOptions = {}) {
      const { id, name: hostName } = await registerHost(options);
      await db.updateTable("hosts").set({ state: "active", enrol_token_sha256: null }).where("id", "=", id).execute();
      await db
        .insertInto("host_leases")
        .values({
          host_id: id,
          seen_at: time.now,
          agent: "test",
          agent_epoch: 1,
          boot: "b",
          clock_offset_ms: 0,
          trash_mb: 0,
          unknown: [],
        })
        .execute();
      return {
        id,
        name: hostName,
        async report(spec: NodeSpec, state: NodeReport["state"], change: Partial<NodeReport> = {}) {
          const host = await db.selectFrom("hosts").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
          const { node, epoch, generation } = spec;
          const report = {
            node,
            epoch,
            generation,
            seal: sealSpec(sealer, id, {
              ...spec,
              epoch: change.epoch ?? epoch,
              generation: change.generation ?? generation,
            }).seal,
            state,
            percent: state === "working" ? 50 : 100,
            ...seenBy(spec, change),
          };
          const sequence = nextSequence();
          return observe(
            { db, sealer },
            host,
            { protocol: 1, sequence, complete: false, nodes: [report], unknown: [] },
            time.now,
          );
        },
        /** Reports that a cluster has another primary. */
        async reportChange(...changes: PrimaryChange[]) {
          const host = await db.selectFrom("hosts").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
          const sequence = nextSequence();
          return observe(
            { db, sealer },
            host,
            { protocol: 1, sequence, complete: false, nodes: [], changes, unknown: [] },
            time.now,
          );
        },
        /** Is seen now. */
        poll: () => db.updateTable("host_leases").set({ seen_at: time.now }).where("host_id", "=", id).execute(),
      };
    },

    activities,
    parts: Object.values<WorkerPart>(parts),
    /** The names of the worker's jobs, without its proofs. */
    jobNames: Object.values<WorkerPart>(parts).flatMap((part) => Object.values(part.jobs ?? {}).flatMap(Object.keys)),
    /** Ends an operation as the sweeper does after its deadline. */
    async expire(operationId: number) {
      const { kind } = await findOperation(db, operationId);
      const part = Object.values<WorkerPart>(parts).find(({ expire = {} }) => kind in expire);
      await part?.expire?.[kind]?.(operationId);
    },
    /** Runs a job of the worker once. */
    run: (job: keyof typeof jobs) => jobs[job](),
    checkPhase: (operationId: number, phase: string) => checkPhase(db, operationId, phase),
    checkUploads: () => checkUploads(given),
    /** Copies one image that a store lacks. */
    copyNextImage: () => copyNext({ ...given, imageStores }),
    openOperations: async () =>
      (await db.selectFrom("operations").select("kind").where("settled_at", "is", null).orderBy("id").execute()).map(
        ({ kind }) => kind,
      ),
    lastOperation: () => db.selectFrom("operations").selectAll().orderBy("id", "desc").executeTakeFirstOrThrow(),
    audit: async () =>
      (await db.selectFrom("audit").select(["action", "target", "account_id"]).orderBy("id").execute()).filter(
        ({ account_id }) => account_id !== null,
      ),
    nodes: () => db.selectFrom("nodes").selectAll().orderBy(["created_at", "database_id", "ordinal", "id"]).execute(),
    events: () => db.selectFrom("events").selectAll().orderBy("account_id").orderBy("seq").execute(),
    account: (id: number) => db.selectFrom("accounts").selectAll().where("id", "=", id).executeTakeFirstOrThrow(),
    hostRow: (id: number) => db.selectFrom("hosts").selectAll().where("id", "=", id).executeTakeFirstOrThrow(),
    databaseRow: (id: number) => db.selectFrom("databases").selectAll().where("id", "=", id).executeTakeFirstOrThrow(),

    async [Symbol.asyncDispose]() {
      await Promise.all([tenants.close(), cards.close(), operators.close()]);
      await payments.close();
      await db.destroy();
      await dropDatabase(admin, name);
      await admin.end();
    },
  };
}
/** Of each loop, one after the other: all together have no name in common. */
type NameIn<Loop> = Loop extends Loop ? keyof Loop : never;
type JobName<Parts> = {
  [Part in keyof Parts]:
    | (Parts[Part] extends { jobs: infer Loops } ? NameIn<Loops[keyof Loops]> : never)
    | (Parts[Part] extends { proofs: infer Proofs } ? keyof Proofs : never);
}[keyof Parts];

/** For what a test must not reach: its first use throws. */
const absent = (what: string): never =>
  new Proxy(
    {},
    {
      get() {
        throw new Error(`The world of this test has no ${what}.`);
      },
    },
  ) as never;

export type World = Awaited<ReturnType<typeof newWorld>>;

/** Without force: the pool's connections are still closing. Postgres itself waits for them for five seconds. */
async function dropDatabase(admin: ReturnType<typeof createPool>, name: string): Promise<void> {
  const until = Date.now() + DROP_MS;
  const isInUse = (error: unknown): boolean => (error as { code?: string }).code === "55006";
  for (;;) {
    try {
      await admin.query(`drop database ${name}`);
      return;
    } catch (error) {
      if (!isInUse(error) || Date.now() >= until) throw error;
    }
  }
}
const DROP_MS = 60_000;
