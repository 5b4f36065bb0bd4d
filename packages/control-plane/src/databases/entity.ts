import type { EventEntity } from "@moorage/contract";

/** How a database is named in events, in the audit and in sealed values. */
export const entityOf = (database: { id: number; label: string }) =>
  ({
    id: database.id,
    label: database.label,
    type: "database",
    url: `/v4/databases/mysql/instances/${database.id}`,
  }) satisfies EventEntity;

export const targetOf = (databaseId: number): string => `database/${databaseId}`;

/** What a database's admin password is bound to: in another row it does not open. */
export const passwordPlace = (accountId: number, databaseId: number): (string | number)[] => [
  "databases.admin_password",
  accountId,
  databaseId,
];
