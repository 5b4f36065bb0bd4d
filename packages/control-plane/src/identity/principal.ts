import { type Access, type GlobalGrant, holds, type Permission } from "@moorage/contract";
import { DomainError } from "#platform/errors.ts";

/** The caller of a request. */
export type Principal = {
  accountId: number;
  accountUuid: string;
  userId: number;
  username: string;
  /** Since when the user has this name. */
  nameSince: Date;
  restricted: boolean;
  globalGrants: Partial<Record<GlobalGrant, boolean>>;
  tokenId: number;
  /** The app that the token was issued to; null for a personal token. */
  clientId: string | null;
  scopes: readonly string[];
};

/** Checks in this order: the token's scopes, the kind of user, the account grant. */
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

/** read_write access to the account includes read_only. */
export const isGranted = ({ globalGrants }: Principal, needed: GlobalGrant): boolean =>
  globalGrants[needed] === true || (needed === "account_read" && globalGrants.account_write === true);

/**
 * An object that the user may not see does not exist for them; an action that they may not do on a visible object is
 * forbidden.
 */
export function requirePermission(held: Permission | undefined, needed: Permission): "not-found" | "allowed" {
  if (held === undefined) return "not-found";
  if (needed === "read_write" && held === "read_only")
    throw new DomainError("forbidden", { reason: "Unauthorized: this needs the read_write grant on this object." });
  return "allowed";
}
