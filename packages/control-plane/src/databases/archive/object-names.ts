/** The prefix of all objects of a database: one place, so that all of them can be deleted at once. */
export const databasePrefix = (accountId: number, databaseId: number): string =>
  `accounts/${accountId}/databases/${databaseId}/`;

type Owner = { account_id: number; database_id: number; id: string };

/** `name` is a name of the agent protocol. Each timeline has a folder of its own, so histories never mix. */
export const objectKey = (timeline: Owner, name: string): string =>
  `${databasePrefix(timeline.account_id, timeline.database_id)}timelines/${timeline.id}/${name}`;

export const copyFolder = (copyId: string): string => `copies/${copyId}/`;
export const manifestOf = (copyId: string): string => `${copyFolder(copyId)}manifest.json`;
/** Counted from 1. */
export const partsOf = (copyId: string, parts: number): string[] =>
  Array.from({ length: parts }, (_, n) => `${copyFolder(copyId)}part-${String(n + 1).padStart(6, "0")}`);
/** Transactions that only a former primary had; the names of these objects start with this prefix. */
export const lostTransactionsFolder = "lost/";
export const logOf = (name: string): string => `logs/${name}`;

/** The copy that an object of a timeline belongs to. */
export const copyOfKey = (key: string): string | undefined => /\/copies\/([0-9a-f-]{36})\//.exec(key)?.[1];
