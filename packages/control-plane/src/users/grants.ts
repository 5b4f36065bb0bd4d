import { type GlobalGrant, type GrantFlag, type Grants, type GrantsChange, grantFlags } from "@moorage/contract";

/** As stored: a missing grant is not granted. */
export type GlobalGrants = Partial<Record<GlobalGrant | GrantFlag, boolean | undefined>>;

export const viewOfGlobal = (held: GlobalGrants): Grants["global"] => ({
  account_access: held.account_write === true ? "read_write" : held.account_read === true ? "read_only" : null,
  ...(Object.fromEntries(grantFlags.map((flag) => [flag, held[flag] === true])) as Record<GrantFlag, boolean>),
});

/** The global grants of a request, as stored. */
export const keptGlobal = ({ account_access, ...flags }: NonNullable<GrantsChange["global"]>): GlobalGrants =>
  account_access === undefined
    ? flags
    : { ...flags, account_read: account_access !== null, account_write: account_access === "read_write" };
