import type { MysqlDatabase, NewMysqlDatabase } from "@moorage/contract";
import { invalidToken, type Principal, requireWithinLimits } from "#identity/index.ts";
import { refusalOf, timesOf } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import { changeAtOnce } from "#platform/db/change-at-once.ts";
import type { Db } from "#platform/db/database.ts";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import type { Sealer } from "#platform/seal.ts";
import {
  type EngineVersion,
  findEngineVersion,
  type Offered,
  type Offers,
  type Plan,
  takesDatabases,
} from "#regions/index.ts";
import { mayHaveDatabases } from "../model/capability.ts";
import { initialStatus, labelTaken, replicationFaults, replicationOf } from "../model/database.ts";
import { engineIdsOf, faultsOfEngineConfig, newestNamed, plansFor, typeReason } from "../model/engine.ts";
import { entityOf, newPassword, passwordPlace, targetOf } from "../model/entity.ts";
import { defaultUpdates } from "../model/maintenance-window.ts";
import { usageOf } from "../model/usage.ts";
import { texts } from "../model/texts.ts";
import type { ForkInput } from "../model/timeline-store.ts";
import { viewOfDatabase } from "../model/view.ts";
import { requireForkable, restoreTimeOf } from "../timelines/fork.ts";
import { acceptCreate } from "./accept-create.ts";

export type CreateDeps = {
  db: Db;
  clock: Clock;
  sealer: Sealer;
  offers: Offers;
  nudgeRelay: () => void;
  provisionDeadlineSeconds: number;
  /** For a fork: its data come from the archive. */
  restoreDeadlineSeconds: number;
  existingCustomersOnly: boolean;
  sslConnectionIfOmitted: boolean;
  zone: string;
};

const sequences = { id: "databases_seq", operationId: "operations_seq" };

export async function createDatabase(
  deps: CreateDeps,
  by: Principal,
  request: NewMysqlDatabase,
  idempotency: Idempotency,
): Promise<MysqlDatabase> {
  const { db, clock, sealer } = deps;
  if (deps.existingCustomersOnly) await requireCapability(db, by.accountId);
  const { plan, newest } = await requireOffered(deps.offers, request);
  const { engineVersion, ...work } = await workOf(deps, by, request, plan, newest);
  const origin = {
    fork_source: request.fork?.source ?? null,
    fork_restore_time: request.fork === undefined ? null : restoreTimeOf(request.fork),
  };
  const replication = replicationOf(request);
  const ssl_connection = request.ssl_connection ?? deps.sslConnectionIfOmitted;

  const created = await changeAtOnce(db, "api.createMysqlDatabase", sequences, async (client, { id, operationId }) => {
    const at = clock();
    const entity = entityOf({ id, label: request.label });
    const view = viewOfDatabase(
      {
        ...request,
        ...engineVersion,
        ...origin,
        ssl_connection,
        id,
        plan: plan.id,
        disk_mb: plan.disk_mb,
        used_disk_mb: null,
        newest_image: engineVersion.image,
        patch_due_at: null,
        replication_type: replication,
        status: initialStatus,
        updates: defaultUpdates,
        port: null,
        dns_published_at: null,
        timeline_id: null,
        created_at: at,
        updated_at: at,
      },
      deps.zone,
      at,
    );
    const claim = idempotency.columns(view);
    const [outcome] = await acceptCreate(client, {
      ...claim,
      ...timesOf(at, work.deadlineSeconds),
      ...usageOf(plan, request.cluster_size),
      accountId: by.accountId,
      userId: by.userId,
      username: by.username,
      restricted: by.restricted,
      at,
      id,
      label: request.label,
      url: entity.url,
      target: targetOf(id),
      engineVersion: engineVersion.id,
      region: request.region,
      plan: plan.id,
      clusterSize: request.cluster_size,
      replicationType: replication,
      encrypted: request.encrypted,
      sslConnection: ssl_connection,
      allowList: request.allow_list,
      status: initialStatus,
      updates: JSON.stringify(defaultUpdates),
      adminPassword: sealer.seal(passwordPlace(by.accountId, id), newPassword()),
      forkSource: origin.fork_source,
      forkRestoreTime: origin.fork_restore_time,
      operationId,
      kind: work.kind,
      input: JSON.stringify(work.input),
    });
    if (claim.keySha256 !== null && outcome?.claimed !== true) return undefined;
    if (outcome?.created !== true) throw labelTaken(request.label);
    if (!outcome.counted) throw invalidToken();
    requireWithinLimits(outcome);
    if (!outcome.opened) throw await refusalOf(db);
    return view;
  });
  // After the connection was returned to the pool: fifty such requests at once would each hold one and wait for a
  // second.
  if (created === undefined) return idempotency.replay(db);
  deps.nudgeRelay();
  return created;
}

/** A fork runs its source's version, even if a newer one is offered. */
async function workOf(
  deps: CreateDeps,
  by: Principal,
  request: NewMysqlDatabase,
  plan: Plan,
  newest: EngineVersion,
): Promise<{ kind: string; input: Partial<ForkInput>; deadlineSeconds: number; engineVersion: EngineVersion }> {
  const { fork } = request;
  if (fork === undefined)
    return {
      kind: "provisionDatabase",
      input: {},
      deadlineSeconds: deps.provisionDeadlineSeconds,
      engineVersion: newest,
    };
  const from = await requireForkable(deps, by, { ...request, fork }, plan);
  return {
    kind: "forkDatabase",
    input: { fork: from.fork },
    deadlineSeconds: deps.restoreDeadlineSeconds,
    engineVersion: (await findEngineVersion(deps.db, from.engineVersion)) ?? newest,
  };
}

async function requireCapability(db: Db, accountId: number): Promise<void> {
  const account = await db
    .selectFrom("accounts")
    .select(["id", "capabilities"])
    .where("id", "=", accountId)
    .executeTakeFirstOrThrow();
  if (!(await mayHaveDatabases(db, account, true)))
    throw new DomainError("forbidden", { reason: texts.notForThisAccount() });
}

/** Checks every choice of the request, and reports all refusals at once, each with the valid values. */
async function requireOffered(offers: Offers, request: NewMysqlDatabase) {
  const recently = choose(await offers.recent(), request);
  const chosen = isWhole(recently) ? recently : choose(await offers.now(), request);
  const faults = faultsOf(chosen, request);
  const { plan, newest } = chosen;
  if (plan === undefined || newest === undefined || faults.length > 0) throw new DomainError("invalid", ...faults);
  return { plan, newest };
}

/** The faults of the choices in a request whose other fields are malformed. */
export const faultsOfPart = async (offers: Offers, part: Partial<NewMysqlDatabase>): Promise<ErrorDetail[]> =>
  faultsOf(choose(await offers.now(), part), part);

function faultsOf(
  { offered, region, plan, newest }: ReturnType<typeof choose>,
  request: Partial<NewMysqlDatabase>,
): ErrorDetail[] {
  const { cluster_size = 1, type } = request;
  const oneOf = (field: string, valid: readonly string[]): ErrorDetail => ({
    field,
    reason: invalidReason(field, texts.notOffered({ valid })),
  });
  return [
    ...(request.region === undefined || region !== undefined
      ? []
      : [oneOf("region", idsOf(offered.regions.filter(takesDatabases)))]),
    ...(type === undefined || plan !== undefined
      ? []
      : [{ field: "type", reason: typeReason(offered.plans, cluster_size, type) }]),
    ...(request.engine === undefined || newest !== undefined
      ? []
      : [oneOf("engine", engineIdsOf(offered.engineVersions))]),
    ...replicationFaults(request),
    ...faultsOfEngineConfig(request.engine_config),
  ];
}

const idsOf = (things: readonly { id: string }[]): string[] => things.map(({ id }) => id);

const choose = (offered: Offered, { region, type, engine, cluster_size = 1 }: Partial<NewMysqlDatabase>) => ({
  offered,
  region: offered.regions.find((each) => each.id === region && takesDatabases(each)),
  plan: plansFor(offered.plans, cluster_size).find(({ id }) => id === type),
  newest: engine === undefined ? undefined : newestNamed(offered.engineVersions, engine),
});
const isWhole = ({ region, plan, newest }: ReturnType<typeof choose>): boolean =>
  region !== undefined && plan !== undefined && newest !== undefined;
