import type { Person } from "./interactions.ts";

/** The provider identifies everything by a string. The names of persons and app grants are not secret. */
const joined = (accountId: number, id: number): string => `${accountId}.${id}`;

function parsed(name: string | undefined): [accountId: number, id: number] | undefined {
  const [, accountId, id] = /^(\d{1,16})\.(\d{1,16})$/.exec(name ?? "") ?? [];
  return accountId === undefined || id === undefined ? undefined : [Number(accountId), Number(id)];
}

export const nameOfPerson = ({ accountId, userId }: Person): string => joined(accountId, userId);

export function personOf(name: string | undefined): Person | undefined {
  const [accountId, userId] = parsed(name) ?? [];
  return accountId === undefined || userId === undefined ? undefined : { accountId, userId };
}

export type AppGrantRef = { accountId: number; id: number };
export const nameOfAppGrant = ({ accountId, id }: AppGrantRef): string => joined(accountId, id);

export function appGrantOf(name: string | undefined): AppGrantRef | undefined {
  const [accountId, id] = parsed(name) ?? [];
  return accountId === undefined || id === undefined ? undefined : { accountId, id };
}
