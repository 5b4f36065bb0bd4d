import { type Adapter, type AdapterFactory, type AdapterPayload, errors, Provider } from "oidc-provider";
import { saveAppToken } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import type { Sealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import { closeAppGrant, extendAppGrant, findAppGrant, liveAppGrants } from "./app-grant-store.ts";
import { findClient, metadataOf } from "./client-metadata.ts";
import {
  createDeviceCodes,
  endGrantOfCode,
  findCode,
  findGrantPayload,
  findTokenPayload,
} from "./command-line-adapter.ts";
import { endCommandLineGrant, issueOnce } from "./command-line-grants.ts";
import { COMMAND_LINE, type LoginTokens } from "./command-line.ts";
import { appGrantOf, type AppGrantRef, nameOfAppGrant, nameOfPerson, personOf } from "./names.ts";
import {
  type AuthRecord,
  dropRecord,
  findGrantedRecord,
  findRecord,
  rewriteRecord,
  saveRecord,
  useRecord,
} from "./record-store.ts";
import { ofApi, OPENID } from "./scopes.ts";

export type AdapterDeps = { db: Db; clock: Clock; sealer: Sealer; loginTokens: LoginTokens };

/** Set on a record that was read: it is saved only if it still exists under this key. */
export type Kept = { keptAs?: string };

/** The storage adapter of oidc-provider, for each of its models. */
export function createAdapter(deps: AdapterDeps): AdapterFactory {
  const kinds: Record<string, Adapter> = {
    Client: clients(deps),
    Grant: grants(deps),
    AccessToken: accessTokens(deps),
    AuthorizationCode: grantedOnce(deps, "AuthorizationCode"),
    RefreshToken: grantedOnce(deps, "RefreshToken"),
    DeviceCode: { ...nothing, ...createDeviceCodes(deps) },
    Session: sessions(deps),
    Interaction: interactions(deps),
  };
  return (model) => kinds[model] ?? nothing;
}

const never = (): never => {
  throw new Error("The authorization server is configured so that it never calls this.");
};
const nothing: Adapter = {
  upsert: never,
  find: never,
  findByUid: never,
  findByUserCode: never,
  consume: never,
  destroy: never,
  // Tokens of a grant are only valid while the grant is, so nothing has to be deleted.
  revokeByGrantId: async () => {},
};

const clients = ({ db }: AdapterDeps): Adapter => ({
  ...nothing,
  async find(id) {
    const row = await findClient(db, id);
    return row === undefined ? undefined : metadataOf(row, sendsSecret());
  },
});

function sendsSecret(): boolean {
  const ctx = Provider.ctx;
  return ctx?.headers.authorization !== undefined || ctx?.oidc.params?.client_secret !== undefined;
}

/** Grants of apps are stored by number, those of the command line by a name. */
const grants = (deps: AdapterDeps): Adapter => ({
  ...nothing,
  find: async (name) => {
    const appGrant = appGrantOf(name);
    return appGrant === undefined ? findGrantPayload(deps, name) : appGrantPayload(deps, name, appGrant);
  },
  async destroy(name) {
    const grant = appGrantOf(name);
    if (grant === undefined) return endCommandLineGrant(deps, name);
    await closeAppGrant(deps.db, grant, deps.clock());
    await notify(deps.db, "identity");
  },
});

async function appGrantPayload({ db, clock }: AdapterDeps, name: string, grant: AppGrantRef) {
  const row = await findAppGrant(db, grant, clock());
  return (
    row && {
      kind: "Grant",
      jti: name,
      iat: seconds(row.created_at),
      exp: seconds(row.expires_at),
      accountId: nameOfPerson({ accountId: row.account_id, userId: row.user_id }),
      clientId: row.client_id,
      openid: { scope: [OPENID, ...row.scopes].join(" ") },
    }
  );
}

const accessTokens = (deps: AdapterDeps): Adapter => ({
  ...nothing,
  async upsert(token, { accountId, clientId, grantId, scope, iat, exp }) {
    const { db, clock } = deps;
    const [createdAt, expiresAt] = [dateOf(iat), dateOf(exp)];
    const scopes = ofApi((scope ?? "").split(" "));
    if (clientId === COMMAND_LINE) return issueOnce(deps, grantId ?? "", { token, scopes, expires: expiresAt });
    const [person, appGrant] = [personOf(accountId), appGrantOf(grantId)];
    if (person === undefined || appGrant === undefined) throw ended();
    await db.transaction().execute(async (tx) => {
      if (!(await extendAppGrant(tx, appGrant, clock(), expiresAt))) throw ended();
      await saveAppToken(tx, { token, person, appGrant, scopes, createdAt, expiresAt });
    });
  },
  async find(token) {
    const row = await findAccessToken(deps.db, token, deps.clock());
    if (row === undefined) return findTokenPayload(deps, token);
    return {
      kind: "AccessToken",
      jti: token,
      iat: seconds(row.created_at),
      exp: seconds(row.expires_at ?? row.created_at),
      accountId: nameOfPerson({ accountId: row.account_id, userId: row.user_id }),
      clientId: row.client_id,
      grantId: nameOfAppGrant({ accountId: row.account_id, id: row.app_grant_id }),
      scope: row.scopes.join(" "),
    };
  },
  // For an app the provider ends the grant itself, which ends the token.
  destroy: (token) => deps.loginTokens.revoke(COMMAND_LINE, sha256(token)),
});

const ended = (): Error => new errors.InvalidGrant("the grant has ended");

const findAccessToken = (db: Db, token: string, now: Date) =>
  liveAppGrants(db, now)
    .innerJoin("tokens", (join) =>
      join.onRef("tokens.account_id", "=", "app_grants.account_id").onRef("tokens.app_grant_id", "=", "app_grants.id"),
    )
    .select(["tokens.account_id", "tokens.user_id", "tokens.scopes", "tokens.created_at", "tokens.expires_at"])
    .select(["app_grants.id as app_grant_id", "app_grants.client_id"])
    .where("tokens.sha256", "=", sha256(token))
    .where("tokens.revoked_at", "is", null)
    .executeTakeFirst();

/** Authorization codes and refresh tokens: using one twice revokes everything that was issued from its grant. */
const grantedOnce = (deps: AdapterDeps, model: string): Adapter => ({
  ...nothing,
  async upsert(id, payload) {
    const { db, clock, sealer } = deps;
    if (payload.clientId === COMMAND_LINE)
      return saveRecord(db, sealer, {
        model,
        id,
        payload,
        person: personOf(payload.accountId),
        expiresAt: dateOf(payload.exp),
      });
    const [person, appGrant] = [personOf(payload.accountId), appGrantOf(payload.grantId)];
    if (person === undefined || appGrant === undefined) throw ended();
    const expiresAt = dateOf(payload.exp);
    await db.transaction().execute(async (tx) => {
      if (!(await extendAppGrant(tx, appGrant, clock(), expiresAt))) throw ended();
      await saveRecord(tx, sealer, { model, id, payload, person, appGrant, expiresAt });
    });
  },
  async find(id) {
    const { db, clock, sealer } = deps;
    const found = (await findGrantedRecord(db, sealer, model, id, clock())) ?? (await findCode(deps, model, id));
    if (found === undefined) return undefined;
    return { ...found.payload, ...(found.consumedAt !== null && { consumed: seconds(found.consumedAt) }) };
  },
  // The provider has checked before, but several requests may have passed that check at once.
  async consume(id) {
    const { db, clock } = deps;
    const use = await useRecord(db, model, id, clock());
    if (use === "used") return;
    if (use.usedBefore !== undefined) {
      await closeAppGrant(db, use.usedBefore, clock());
      await notify(db, "identity");
    } else await endGrantOfCode(deps, model, id);
    throw new errors.InvalidGrant("already used");
  },
  destroy: (id) => dropRecord(deps.db, model, id),
});

const sessions = ({ db, sealer }: AdapterDeps): Adapter => {
  const found = (record: Awaited<ReturnType<typeof findRecord>>): (AdapterPayload & Kept) | undefined =>
    record === undefined ? undefined : { ...record.payload, keptAs: record.key };
  return {
    ...nothing,
    async upsert(id, payload) {
      const { keptAs, uid, ...rest } = payload as AdapterPayload & Kept & { uid: string };
      const record: AuthRecord = {
        model: "Session",
        id,
        uid,
        payload: { ...rest, uid },
        person: personOf(payload.accountId),
        expiresAt: dateOf(payload.exp),
      };
      await (keptAs === undefined ? saveRecord(db, sealer, record) : rewriteRecord(db, sealer, record, keptAs));
    },
    find: async (id) => found(await findRecord(db, sealer, "Session", { id })),
    findByUid: async (uid) => found(await findRecord(db, sealer, "Session", { uid })),
    destroy: (id) => dropRecord(db, "Session", id),
  };
};

const interactions = ({ db, sealer }: AdapterDeps): Adapter => ({
  ...nothing,
  upsert: (id, payload) =>
    saveRecord(db, sealer, {
      model: "Interaction",
      id,
      payload,
      person: personOf(payload.session?.accountId),
      expiresAt: dateOf(payload.exp),
    }),
  find: async (id) => (await findRecord(db, sealer, "Interaction", { id }))?.payload,
  destroy: (id) => dropRecord(db, "Interaction", id),
});

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);
const dateOf = (epoch: number | undefined): Date => new Date((epoch ?? 0) * 1000);
