/** The names that lead to a database. They follow from its id, so nothing has to remember them. */
export const primaryName = (id: number, zone: string): string => `db-${id}-mysql-primary.${zone}`;
export const privateName = (id: number, zone: string): string => `db-${id}-mysql-primary-private.${zone}`;
