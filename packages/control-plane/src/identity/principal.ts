import type { Access, GlobalGrant, Permission, Scope } from "@moorage/contract";
import { DomainError } from "#platform/errors.ts";

/** Who makes a request. */
export type Principal = {
  accountId: number;
  accountUuid: string;
  userId: number;
  username: string;
  restricted: boolean;
  globalGrants: Partial<Record<GlobalGrant, boolean>>;
  tokenId: number;
  scopes: readonly string[];
};

/** In the order of refusals: the token's scopes, the kind of user, the grant for the whole account. */
export function requireAccess(principal: Principal, access: Access): void {
  const missing = access.scopes.filter((scope) => !holds(principal.scopes, scope));
  if (missing.length > 0)
    throw new DomainError("unauthorized", {
      reason: `Your token is not authorized to use this endpoint. It needs the scope ${missing.join(" and ")}.`,
    });
  if (!principal.restricted) return;
  if (access.unrestrictedOnly === true)
    throw new DomainError("forbidden", { reason: "Unauthorized: only unrestricted users may do this." });
  if (access.grant !== undefined && !isGranted(principal, access.grant))
    throw new DomainError("forbidden", { reason: `Unauthorized: this needs the ${access.grant} grant.` });
}

/** Who may change the account may read it. */
const isGranted = ({ globalGrants }: Principal, needed: GlobalGrant): boolean =>
  globalGrants[needed] === true || (needed === "account_read" && globalGrants.account_write === true);

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

/** What one may not see does not exist; what one may see but not do is refused as such. */
export function requirePermission(held: Permission | undefined, needed: Permission): "not-found" | "allowed" {
  if (held === undefined) return "not-found";
  if (needed === "read_write" && held === "read_only")
    throw new DomainError("forbidden", { reason: "Unauthorized: this needs the read_write grant on this object." });
  return "allowed";
}
