import type { Operation } from "@moorage/contract";
import type { Person } from "./apps.ts";
import { type ExpectedAccess, everyGrant, everyScope, everyScopeBut, gives } from "./expected-access.ts";
import type { Outcome } from "./outcome.ts";
import {
  type Entity,
  type Held,
  namesAnObject,
  type Fixture,
  type Target,
  type TokenKind,
  tokenKinds,
  type TargetOptions,
} from "./fixture.ts";

/** One request by one principal, and its expected outcome. */
export type Cell = { who: string; authorization: string | undefined; expected: Outcome; target: Target };

const bearer = (token: string): string => `Bearer ${token}`;

export const namesIn = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);

/** Invalid credentials, the same for every operation. */
export function nobodies(fixture: Fixture, target: Target): Cell[] {
  const owner = fixture.ownersToken;
  const malformed = ["", "Bearer", "Bearer ", owner, `Basic ${owner}`, bearer(owner.slice(1)), `${bearer(owner)}0`];
  return [
    ...malformed.map((authorization) => ({ who: `malformed, ${authorization.length} long`, authorization })),
    ...Object.entries(fixture.dead).map(([who, token]) => ({ who, authorization: bearer(token) })),
  ].map((cell) => ({ ...cell, expected: "no token", target }));
}

/** The expected outcome for a token with these scopes; `next` if they are sufficient. */
const byScopes = (needed: readonly string[], held: readonly string[], next: Outcome): Outcome => {
  const missing = held.includes("*") ? [] : needed.filter((scope) => !gives(held, [scope]));
  return missing.length === 0 ? next : `lacks ${missing.join(" ")}`;
};

/** A token with sufficient scopes must also be confirmed; those of the fixture are not. */
const ifConfirmed = (access: ExpectedAccess, scopes: readonly string[], kind: TokenKind, next: Outcome): Outcome =>
  access === "public" || access.confirmed !== true || next.startsWith("lacks ")
    ? next
    : kind === "personal token" && scopes.includes("*")
      ? next
      : "not confirmed";

/** The expected outcome without any token. Objects of an account are never accessible. */
export const ofNobody = (access: ExpectedAccess, names: readonly string[]): Outcome =>
  access === "public" || (access.operatorsForAll === true && !namesAnObject(names)) ? "allowed" : "no token";

type Needs = Exclude<ExpectedAccess, "public">;

/** The expected outcome for a restricted user with these grants, on `it` or elsewhere. */
export function ofRestricted({ unrestrictedOnly, grant, object }: Needs, held: Held, it?: Entity): Outcome {
  if (unrestrictedOnly === true) return "forbidden";
  // Write access includes read access.
  const globals = (held.grants ?? []).flatMap((each) => [each, each.replace("_write", "_read")]);
  if (grant !== undefined && !globals.includes(grant)) return "forbidden";
  if (object === undefined || object === "own" || object === "bearer") return "allowed";
  const permission = held.on !== undefined && isSame(held.on[0], it) ? held.on[1] : undefined;
  if (permission === undefined) return "not found";
  return object === "read_write" && permission === "read_only" ? "forbidden" : "allowed";
}

const isSame = (one: Entity, other: Entity | undefined): boolean => one.type === other?.type && one.id === other.id;

const kinds = ["compute", "database", "image"] as const;

/** Every state of a restricted user's grants that an operation could check; `it` is the operation's object. */
const grantStates = (another: Entity, hasIt: boolean): ((it: Entity) => Held)[] => [
  () => ({}),
  ...everyGrant.map((grant) => () => ({ grants: [grant] })),
  ...everyGrant.map((grant) => () => ({ grants: everyGrant.filter((each) => each !== grant) })),
  () => ({ grants: everyGrant }),
  () => ({ on: [another, "read_only"] }),
  () => ({ on: [another, "read_write"] }),
  () => ({ grants: everyGrant, on: [another, "read_write"] }),
  ...(hasIt ? grantsOnIt : []),
];
const grantsOnIt: ((it: Entity) => Held)[] = [
  // Ids are unique per kind only: an object of another kind may have the same number.
  ...kinds.map(
    (type) =>
      (it: Entity): Held => ({ on: [{ type, id: it.id }, "read_write"] }),
  ),
  (it) => ({ on: [it, "read_only"] }),
  (it) => ({ grants: everyGrant, on: [it, "read_write"] }),
];

const describeHeld = ({ grants = [], on }: Held, it: Entity | undefined): string =>
  `restricted with [${grants.join(" ")}]${on === undefined ? "" : ` and ${on[1]} on ${isSame(on[0], it) ? "it" : `another ${on[0].type}`}`}`;

/** All other operations are possible with an active database, and with a transfer of the caller's own. */
const targetOptionsOf: Readonly<Record<string, TargetOptions>> = {
  resumeMysqlDatabase: { status: "suspended" },
  switchMysqlPrimary: { cluster: "healthy" },
  promoteMysqlNode: { cluster: "without_primary" },
  acceptServiceTransfer: { offered: true },
};

export async function cellsOf(operation: Operation, access: ExpectedAccess, fixture: Fixture): Promise<Cell[]> {
  const names = namesIn(operation.path);
  const targetOptions = targetOptionsOf[operation.id] ?? {};
  const targets = new Map<number, Promise<Target>>();
  const own = access !== "public" && access.object === "own";
  /** Whether the request can be repeated: it is refused or only reads. */
  const lasting = (person: Person): Promise<Target> => {
    const whose = own ? person.userId : 0;
    if (!targets.has(whose)) targets.set(whose, fixture.target(names, person, targetOptions));
    return targets.get(whose) as Promise<Target>;
  };
  const spent = (person: Person, expected: Outcome): Promise<Target> =>
    expected === "allowed" && operation.method !== "GET"
      ? fixture.target(names, person, targetOptions)
      : lasting(person);

  const first = await lasting(fixture.owner);
  const cells = nobodies(fixture, first);
  cells.push({ who: "nobody", authorization: undefined, expected: ofNobody(access, names), target: first });
  /** With a personal token, and with the token of an app that the user authorized. */
  const add = async (
    who: string,
    person: Person,
    scopes: readonly string[],
    unlessUnconfirmed: Outcome,
    on?: Target,
  ): Promise<void> => {
    for (const kind of tokenKinds) {
      const expected = ifConfirmed(access, scopes, kind, unlessUnconfirmed);
      const authorization = bearer(await fixture.token(person, scopes, kind));
      cells.push({ who: `${who}, ${kind}`, authorization, expected, target: on ?? (await spent(person, expected)) });
    }
  };

  const needed = access === "public" ? [] : access.scopes;
  for (const scopes of [...everyScope.map((scope) => [scope]), needed, ["*"]])
    if (scopes.length > 0)
      await add(`scopes ${scopes.join(" ")}`, fixture.owner, scopes, byScopes(needed, scopes, "allowed"));
  if (access === "public") {
    await add("another account", fixture.stranger, ["*"], "allowed");
    await add("restricted with []", await fixture.restricted(), ["*"], "allowed");
    return cells;
  }

  if (access.object === "bearer") await add("another account", fixture.stranger, ["*"], "allowed");
  else await add("another account", fixture.stranger, ["*"], namesAnObject(names) ? "not found" : "allowed", first);
  await add("a colleague", fixture.colleague, ["*"], own ? "not found" : "allowed", own ? first : undefined);

  const nothing: Entity = { type: "database", id: 0 };
  const it = first.entity ?? nothing;
  const another = (await fixture.another(it.type)).entity ?? nothing;
  for (const state of grantStates(another, it.id > 0)) {
    for (const kind of tokenKinds) {
      const expected = ifConfirmed(access, ["*"], kind, ofRestricted(access, state(it), it));
      const target = own ? undefined : await spent(fixture.owner, expected);
      const held = state(target?.entity ?? nothing);
      const person = await fixture.restricted(held);
      const authorization = bearer(await fixture.token(person, ["*"], kind));
      const who = `${describeHeld(held, target?.entity)}, ${kind}`;
      cells.push({ who, authorization, expected, target: target ?? (await spent(person, expected)) });
    }
  }

  const everything = await fixture.restricted({ grants: everyGrant });
  const restricted = [await fixture.restricted(), everything];
  if (own) for (const person of restricted) await add("restricted, the owner's", person, ["*"], "not found", first);
  for (const scope of needed)
    for (const person of [fixture.owner, fixture.stranger, ...restricted])
      await add(`${person.username} without ${scope}`, person, everyScopeBut(scope), `lacks ${scope}`);
  return cells;
}
