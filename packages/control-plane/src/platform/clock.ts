/** Time is injected, so that a test can move it. Workflows use Temporal's clock instead. */
export type Clock = () => Date;
/** For a process without a database. The others use that of PostgreSQL: db/database-clock.ts. */
export const systemClock: Clock = () => new Date();
