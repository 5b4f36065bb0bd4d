/** The names that lead to a database. They follow from its id, so nothing has to remember them. */
export const primaryHostname = (id: number, zone: string): string => `db-${id}-mysql-primary.${zone}`;
export const privateHostname = (id: number, zone: string): string => `db-${id}-mysql-primary-private.${zone}`;
