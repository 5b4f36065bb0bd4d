import type { Operation } from "@moorage/contract";
import { type ExpectedAccess, everyGrant, everyScope, everyScopeBut, gives } from "./expected-access.ts";
import type { Outcome } from "./outcome.ts";
import type { Stage, Target } from "./stage.ts";

/** One request by one principal, and what must come of it. */
export type Cell = { who: string; authorization: string | undefined; expected: Outcome; target: Target };

const bearer = (token: string): string => `Bearer ${token}`;

/** Who is nobody, the same for every operation. */
export function nobodies(stage: Stage, target: Target): Cell[] {
  const { owner } = stage;
  const malformed = ["", "Bearer", "Bearer ", owner, `Basic ${owner}`, bearer(owner.slice(1)), `${bearer(owner)}0`];
  return [
    ...malformed.map((authorization) => ({ who: `malformed, ${authorization.length} long`, authorization })),
    { who: "unknown token", authorization: bearer(stage.unknown) },
    { who: "revoked token", authorization: bearer(stage.revoked) },
    { who: "expired token", authorization: bearer(stage.expired) },
  ].map((cell) => ({ ...cell, expected: "no token", target }));
}

export async function cellsOf(operation: Operation, access: ExpectedAccess, stage: Stage): Promise<Cell[]> {
  const names = [...operation.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  // All others are possible in an active one.
  const status = operation.id === "resumeMysqlDatabase" ? "suspended" : "active";
  const first = await stage.target(names, status);
  // Only reading leaves the object as it was for the next one who may do it.
  const target = () => (operation.method === "GET" ? Promise.resolve(first) : stage.target(names, status));
  const cells = nobodies(stage, first);
  const add = (who: string, token: string | undefined, expected: Outcome, on: Target = first): void => {
    cells.push({ who, authorization: token === undefined ? undefined : bearer(token), expected, target: on });
  };

  if (access === "public") {
    add("nobody", undefined, "allowed");
    add("another account", stage.stranger, "allowed");
    add("a restricted user without grants", await stage.restricted(), "allowed");
    for (const scope of everyScope) add(`a token with ${scope}`, await stage.withScopes([scope]), "allowed");
    return cells;
  }

  add("nobody", undefined, "no token");
  const { scopes, grant, object, unrestrictedOnly } = access;
  const hasObject = first.databaseId !== undefined;

  for (const scope of everyScope) {
    const missing = scopes.filter((needed) => !gives([scope], [needed]));
    const expected: Outcome = missing.length === 0 ? "allowed" : `lacks ${missing.join(" ")}`;
    add(`a token with ${scope}`, await stage.withScopes([scope]), expected, await target());
  }
  for (const needed of scopes) {
    const others = everyScopeBut(needed);
    add(`every scope but ${needed}`, await stage.withScopes(others), `lacks ${needed}`);
    add(`another account, every scope but ${needed}`, await stage.strangerWithScopes(others), `lacks ${needed}`);
    add(`restricted, every scope but ${needed}`, await stage.restricted({ scopes: others }), `lacks ${needed}`);
  }
  add("exactly the scopes", await stage.withScopes(scopes), "allowed", await target());
  add("another account", stage.stranger, hasObject ? "not found" : "allowed");

  const kind: Outcome = unrestrictedOnly ? "forbidden" : "allowed";
  const bare: Outcome = unrestrictedOnly || grant !== undefined ? "forbidden" : hasObject ? "not found" : "allowed";
  add("restricted without a grant", await stage.restricted(), bare);
  if (grant !== undefined) {
    // Writing gives reading.
    const others = everyGrant.filter((each) => each !== grant && each.replace("_write", "_read") !== grant);
    add("restricted with every other grant", await stage.restricted({ grants: others }), "forbidden");
    add("restricted with the grant", await stage.restricted({ grants: [grant] }), kind);
  }
  if (hasObject) {
    const all = { grants: everyGrant };
    add("restricted with every grant but on it", await stage.restricted(all), unrestrictedOnly ? kind : "not found");
    const elsewhere = await stage.target(names, status);
    const beside = await stage.restricted({ on: [elsewhere, "read_write"] });
    add("restricted with read_write on another", beside, unrestrictedOnly ? kind : "not found");
    const reading = await stage.restricted({ on: [first, "read_only"] });
    add("restricted with read_only on it", reading, object === "read_write" ? "forbidden" : kind);
    add("restricted with read_write on it", await stage.restricted({ on: [first, "read_write"] }), kind);
  }
  return cells;
}
