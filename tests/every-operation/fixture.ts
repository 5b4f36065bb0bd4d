import { randomBytes } from "node:crypto";
import type { DatabaseStatus, EntityType } from "@moorage/contract";
import { sha256 } from "../../packages/control-plane/src/platform/sha256.ts";
import { ENGINE, PLAN, REGION, type World } from "../../packages/control-plane/src/testing/world.ts";
import { changeClient, consent, newClient, type Person } from "./apps.ts";
import { newImage, newInstance } from "./machines.ts";
import { newInvoice, newPayment, newPaymentMethod } from "./money.ts";
import {
  asCluster,
  backupOf,
  type ClusterKind,
  clientWithThumbnail,
  closedAccount,
  loginOf,
  newTransfer,
  tokenIdOf,
} from "./things.ts";

export type Permission = "read_only" | "read_write";
/** An object that grants can name. */
export type Entity = { type: EntityType; id: number };
export type Target = { params: Record<string, string>; entity?: Entity };
/** Properties of the target. `offered`: another account's transfer, to accept. `cluster`: a database of three nodes. */
export type TargetOptions = { status?: DatabaseStatus; offered?: true; cluster?: ClusterKind };
/** The grants of a restricted user. */
export type Held = {
  grants?: readonly string[];
  on?: readonly [what: Entity, permission: Permission];
};
export type Fixture = Awaited<ReturnType<typeof newFixture>>;

/** Who holds the token: the user, or an app that the user authorized. */
export const tokenKinds = ["personal token", "app's token"] as const;
export type TokenKind = (typeof tokenKinds)[number];

const LIMITS = { databases: 10_000, nodes: 10_000, memory_mb: 102_400_000, disk_mb: 1_024_000_000 };
const catalogue = { engineId: ENGINE, typeId: PLAN, regionId: REGION, metric: "connections" };
const paramOf: Record<EntityType, string> = { compute: "computeId", database: "instanceId", image: "imageId" };
let users = 0;

/** Whether a path names an object that belongs to an account. */
export const namesAnObject = (names: readonly string[]): boolean => names.some((name) => !(name in catalogue));

/**
 * One account with its owner, an unrestricted colleague, restricted users as cases need them, and a stranger in another
 * account. Users and tokens are created once and shared by all cases.
 */
export async function newFixture(world: World) {
  const owner = await world.customer({ limits: LIMITS });
  const colleague: Person = await world.colleague(owner.accountId);
  const stranger: Person = await world.customer();
  const giver = await world.customer();
  for (const { accountId } of [owner, stranger])
    await world.db.updateTable("accounts").set({ country: "DE", zip: "20457" }).where("id", "=", accountId).execute();
  const client = await newClient(world, stranger.accountId);
  const closed = await closedAccount(world, client, owner);
  const remembered = new Map<string, Promise<unknown>>();
  const memoized = <T>(key: string, make: () => Promise<T>): Promise<T> => {
    if (!remembered.has(key)) remembered.set(key, make());
    return remembered.get(key) as Promise<T>;
  };

  const personal = async (person: Person, scopes: readonly string[] = ["*"]): Promise<string> => {
    const path = `/admin/accounts/${person.accountId}/users/${person.username}/tokens`;
    return (await world.operator.post<{ token: string }>(path, { label: "staged", scopes })).body.token;
  };
  const newUser = async (): Promise<Person> => {
    const username = `staged-${++users}`;
    const body = { username, email: `${username}@test.example`, restricted: true };
    await world.operator.post(`/admin/accounts/${owner.accountId}/users`, body);
    const row = world.db.selectFrom("users").select("id").where("username", "=", username);
    return { accountId: owner.accountId, userId: (await row.executeTakeFirstOrThrow()).id, username };
  };
  const changed = async (secret: string, change: { revoked_at: Date } | { expires_at: Date }): Promise<string> => {
    await world.db.updateTable("tokens").set(change).where("sha256", "=", sha256(secret)).execute();
    return secret;
  };
  const earlier = new Date(world.time.now.getTime() - 1000);
  const viaClient = async (change?: Parameters<typeof changeClient>[2]) => {
    const own = await newClient(world, stranger.accountId);
    const given = await consent(world, owner, own, ["*"]);
    if (change !== undefined) await changeClient(world, own, change);
    return given;
  };
  const revokedGrant = await viaClient();
  await world.db
    .updateTable("app_grants")
    .set({ revoked_at: earlier })
    .where("id", "=", revokedGrant.appGrantId)
    .execute();

  /** An object for the path parameters: the user's own if the kind belongs to users, else the account's. */
  const target = async (
    names: readonly string[],
    person: Person,
    { status = "active", offered, cluster }: TargetOptions = {},
  ): Promise<Target> => {
    const owned: Record<string, () => Promise<string | number>> = {
      username: async () => (await newUser()).username,
      clientId: () => clientWithThumbnail(world, owner.accountId),
      appId: async () => (await consent(world, person, client, ["events:read_only"])).appGrantId,
      tokenId: () => tokenIdOf(world, person, personal),
      loginId: () => loginOf(world, person),
      invoiceId: () => newInvoice(world, owner.accountId),
      paymentMethodId: () => newPaymentMethod(world, owner.accountId),
      paymentId: () => newPayment(world, owner.accountId),
      token: () => newTransfer(world, offered === true ? giver : owner),
    };
    const makers = names.flatMap((name) => (owned[name] === undefined ? [] : [[name, owned[name]] as const]));
    const made = await Promise.all(makers.map(async ([name, make]) => [name, String(await make())]));
    const params: Record<string, string> = { ...catalogue, ...Object.fromEntries(made) };
    if (names.every((name) => name in params)) return { params };
    if (names.includes("computeId")) {
      const { computeId, diskId } = await newInstance(world, owner.accountId);
      const named = { computeId: String(computeId), diskId: String(diskId) };
      return { params: { ...params, ...named }, entity: { type: "compute", id: computeId } };
    }
    if (names.includes("imageId")) {
      const id = await newImage(world, owner.accountId);
      return { params: { ...params, imageId: `private/${id}` }, entity: { type: "image", id } };
    }

    const { status: created, body } = await owner.create();
    if (created !== 200) throw new Error(`create answered ${created}: ${JSON.stringify(body)}`);
    const { id } = body;
    if (cluster !== undefined) await asCluster(world, id, cluster);
    const backup = names.includes("backupId") ? { backupId: await backupOf(world, id) } : {};
    // The status in which every operation is possible, so that a refusal is about the principal.
    await world.db.updateTable("databases").set({ status }).where("id", "=", id).execute();
    const { id: eventId } = await world.db
      .selectFrom("events")
      .select("id")
      .where("account_id", "=", owner.accountId)
      .where("entity_type", "=", "database")
      .where("entity_id", "=", String(id))
      .executeTakeFirstOrThrow();
    const named = { instanceId: String(id), eventId: String(eventId) };
    return { params: { ...params, ...backup, ...named }, entity: { type: "database", id } };
  };

  return {
    owner: { ...owner } as Person,
    ownersToken: owner.token,
    colleague,
    stranger,

    /** Tokens that are no longer valid, or never were. */
    dead: {
      "an unknown token": randomBytes(32).toString("hex"),
      "a revoked token": await changed(await personal(owner), { revoked_at: earlier }),
      "an expired token": await changed(await personal(owner), { expires_at: earlier }),
      "an app's revoked token": await changed((await viaClient()).token, { revoked_at: earlier }),
      "an app's expired token": await changed((await viaClient()).token, { expires_at: earlier }),
      "a token of an app that was shut out": revokedGrant.token,
      "a token of a deleted client": (await viaClient({ deleted_at: earlier })).token,
      "a token of a disabled client": (await viaClient({ status: "disabled" })).token,
      "a token of a suspended client": (await viaClient({ status: "suspended" })).token,
      "a token from before the client's epoch": (await viaClient({ epoch: 2 })).token,
      "a token of a closed account": closed.token,
      "an app's token of a closed account": closed.appsToken,
      "a token of an app whose account is closed": closed.throughItsApp,
    },

    token: (person: Person, scopes: readonly string[] = ["*"], kind: TokenKind = "personal token"): Promise<string> =>
      memoized(`${kind} ${person.userId} ${scopes.join(" ")}`, async () =>
        kind === "personal token" ? personal(person, scopes) : (await consent(world, person, client, scopes)).token,
      ),

    restricted: (held: Held = {}): Promise<Person> =>
      memoized(`restricted ${JSON.stringify(held)}`, async () => {
        const person = await newUser();
        const grants = Object.fromEntries((held.grants ?? []).map((grant) => [grant, true]));
        await world.db
          .updateTable("users")
          .set({ global_grants: JSON.stringify(grants) as never })
          .where("id", "=", person.userId)
          .execute();
        if (held.on !== undefined) {
          const [{ type: entity_type, id: entity_id }, permission] = held.on;
          await world.db
            .insertInto("entity_grants")
            .values({
              account_id: owner.accountId,
              user_id: person.userId,
              entity_type,
              entity_id,
              permission,
            })
            .execute();
        }
        return person;
      }),

    target,
    /** Removes cards, because an account can have only a few. */
    removeCards: () =>
      world.db
        .updateTable("payment_methods")
        .set({ deleted_at: world.time.now, is_default: false })
        .where("account_id", "=", owner.accountId)
        .execute(),
    /** An object of the owner's of this kind that no operation uses. */
    another: (type: EntityType): Promise<Target> => memoized(`another ${type}`, () => target([paramOf[type]], owner)),
    /** An object of the owner's, for reading. */
    shared: (names: readonly string[]): Promise<Target> =>
      memoized(`target ${names.join(" ")}`, () => target(names, owner)),
  };
}

/** An id as long as the existing one, so that only existence differs. */
export function absent({ params }: Target): Target {
  const other = (value: string): string => {
    if (/^\d+$/.test(value)) return String(BigInt(value) + 1_000_003n);
    if (value.startsWith("private/")) return `private/${other(value.slice("private/".length))}`;
    const last = isUuid.test(value) ? (value.endsWith("0") ? "1" : "0") : "~";
    return value.slice(0, -1) + last;
  };
  // The catalogue is public, and a wrong name in it is reported.
  const isOpen = (name: string): boolean => Object.hasOwn(catalogue, name);
  const changed = Object.entries(params).map(([name, value]) => [name, isOpen(name) ? value : other(value)]);
  return { params: Object.fromEntries(changed) as Record<string, string> };
}

const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
