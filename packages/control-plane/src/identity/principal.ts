import { type Access, type GlobalGrant, holds, type Permission } from "@moorage/contract";
import { DomainError } from "#platform/errors.ts";
import { grantTexts, tokenTexts } from "./texts.ts";

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
  if (missing.length > 0) throw new DomainError("unauthorized", { reason: tokenTexts.scopeMissing({ missing }) });
  if (!principal.restricted) return;
  if (access.unrestrictedOnly === true) throw unrestrictedOnly();
  if (access.grant !== undefined && !isGranted(principal, access.grant))
    throw new DomainError("forbidden", { reason: grantTexts.accountGrantMissing({ grant: access.grant }) });
}

export const unrestrictedOnly = (): DomainError =>
  new DomainError("forbidden", { reason: grantTexts.unrestrictedOnly() });

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
    throw new DomainError("forbidden", { reason: grantTexts.readWriteMissing() });
  return "allowed";
}
