import type { EventEntity } from "@moorage/contract";

/** How events, audit entries and sealed values name a database. */
export const entityOf = (database: { id: number; label: string }) =>
  ({
    id: database.id,
    label: database.label,
    type: "database",
    url: `/v4/databases/mysql/instances/${database.id}`,
  }) satisfies EventEntity;

export const targetOf = (databaseId: number): string => `database/${databaseId}`;

/** Binds a database's sealed admin password to its row: it cannot be opened in another one. */
export const passwordPlace = (accountId: number, databaseId: number): (string | number)[] => [
  "databases.admin_password",
  accountId,
  databaseId,
];
