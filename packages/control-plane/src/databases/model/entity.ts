/** How events, audit entries, DNS and sealed values name a database, and how its administrator signs in. */
import { randomBytes } from "node:crypto";
import type { EventEntity } from "@moorage/contract";

export const entityOf = (database: { id: number; label: string }) =>
  ({
    id: database.id,
    label: database.label,
    type: "database",
    url: `/v4/databases/mysql/instances/${database.id}`,
  }) satisfies EventEntity;

export const targetOf = (databaseId: number): string => `database/${databaseId}`;

/** The hostnames of a database. They are derived from its id, so they are not stored. */
export const primaryHostname = (id: number, zone: string): string => `db-${id}-mysql-primary.${zone}`;
export const privateHostname = (id: number, zone: string): string => `db-${id}-mysql-primary-private.${zone}`;

/** Binds a database's sealed admin password to its row: it cannot be opened in another one. */
export const passwordPlace = (accountId: number, databaseId: number): (string | number)[] => [
  "databases.admin_password",
  accountId,
  databaseId,
];

/** 192 random bits, in characters that need no quoting anywhere. */
export const newPassword = (): string => randomBytes(24).toString("base64url");

export const ADMIN_USERNAME = "dbadmin";
