import type { Access, Scope } from "@moorage/contract";
import { DomainError } from "#platform/errors.ts";

/** Who makes a request. */
export type Principal = {
  accountId: number;
  userId: number;
  username: string;
  restricted: boolean;
  scopes: readonly string[];
};

export function requireAccess(principal: Principal, access: Access): void {
  const missing = access.scopes.filter((scope) => !holds(principal.scopes, scope));
  if (missing.length > 0)
    throw new DomainError("unauthorized", {
      reason: `Your token is not authorized to use this endpoint. It needs the scope ${missing.join(" and ")}.`,
    });
  if (access.unrestrictedOnly === true && principal.restricted)
    throw new DomainError("forbidden", { reason: "Unauthorized: only unrestricted users may do this." });
}

export function holds(held: readonly string[], needed: Scope): boolean {
  const [area, level] = needed.split(":");
  return held.some(
    (scope) =>
      scope === "*" ||
      scope === needed ||
      scope === `${area}:*` ||
      (level === "read_only" && scope === `${area}:read_write`),
  );
}
