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
  /** Until when the token may change who can act on the account: its user confirmed it on the security page. */
  confirmedUntil: Date | null;
};

export function requireScopes(principal: Principal, needed: Access["scopes"]): void {
  const missing = needed.filter((scope) => !holds(principal.scopes, scope));
  if (missing.length > 0) throw new DomainError("unauthorized", { reason: tokenTexts.scopeMissing({ missing }) });
}

/** How long a token counts as confirmed. */
export const CONFIRMED_MS = 10 * 60_000;

/**
 * For changes of who can act on the account. A token of an app, or one with some scopes, would get further rights by
 * them. A personal token with every scope has no further rights to get.
 */
export function requireConfirmed({ clientId, scopes, confirmedUntil }: Principal, now: Date): void {
  if (clientId !== null) throw new DomainError("unauthorized", { reason: tokenTexts.appNotAllowed() });
  if (scopes.includes("*") || (confirmedUntil !== null && confirmedUntil > now)) return;
  throw new DomainError("unauthorized", { reason: tokenTexts.notConfirmed({ minutes: CONFIRMED_MS / 60_000 }) });
}

/** Checks the kind of user, then the account grant. */
export function requireKindOfUser(principal: Principal, access: Omit<Access, "scopes" | "confirmed">): void {
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
