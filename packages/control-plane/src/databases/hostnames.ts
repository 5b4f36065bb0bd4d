/** The hostnames of a database. They are derived from its id, so they are not stored. */
export const primaryHostname = (id: number, zone: string): string => `db-${id}-mysql-primary.${zone}`;
export const privateHostname = (id: number, zone: string): string => `db-${id}-mysql-primary-private.${zone}`;
