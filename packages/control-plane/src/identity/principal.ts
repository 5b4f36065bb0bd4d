import { type Access, type GlobalGrant, holds, type Permission } from "@moorage/contract";
import { DomainError } from "#platform/errors.ts";

/** Who makes a request. */
export type Principal = {
  accountId: number;
  accountUuid: string;
  userId: number;
  username: string;
  /** Since when the name is this user's. */
  nameSince: Date;
  restricted: boolean;
  globalGrants: Partial<Record<GlobalGrant, boolean>>;
  tokenId: number;
  /** The app whose token it is; null for a personal one. */
  clientId: string | null;
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
export const isGranted = ({ globalGrants }: Principal, needed: GlobalGrant): boolean =>
  globalGrants[needed] === true || (needed === "account_read" && globalGrants.account_write === true);

/** What one may not see does not exist; what one may see but not do is refused as such. */
export function requirePermission(held: Permission | undefined, needed: Permission): "not-found" | "allowed" {
  if (held === undefined) return "not-found";
  if (needed === "read_write" && held === "read_only")
    throw new DomainError("forbidden", { reason: "Unauthorized: this needs the read_write grant on this object." });
  return "allowed";
}
