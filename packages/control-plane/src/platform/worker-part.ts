import type { FastifyInstance } from "fastify";

export type Closable = { close(): Promise<void> };

export type Jobs = Readonly<Record<string, () => Promise<void>>>;

/**
 * Each loop runs its jobs one after the other, and no loop waits for another one.
 * - `health`: checks what tenants use right now. It needs PostgreSQL only.
 * - `rows`: everything else that needs PostgreSQL only.
 * - `remote`: calls other servers, any of which may be slow or hang.
 */
export type Loop = "health" | "rows" | "remote";

/** What one capability does in the worker. The worker and the tests' world compose the same parts. */
export type WorkerPart = {
  /** Steps of its workflows, by name. */
  activities?: object;
  /** Ends an operation of a kind whose workflow could not end it by its deadline. */
  expire?: Readonly<Record<string, (operationId: number) => Promise<void>>>;
  /**
   * Compare this database with what others know after it was restored or restarted. Until they have found it current,
   * no job runs.
   */
  proofs?: Jobs;
  /** Run again and again; each finds its due work by index. Rows are worked on with `eachDue`. */
  jobs?: Readonly<Partial<Record<Loop, Jobs>>>;
  /** Starts what runs all the time, and adds its routes to the worker's own server. */
  start?: (server: FastifyInstance) => readonly Closable[];
  /** Steps other than activities at which a fault drill can kill the worker. */
  steps?: readonly string[];
};

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;
type ActivitiesOf<Parts> = Intersection<
  { [Name in keyof Parts]: Parts[Name] extends { activities: infer Activities } ? Activities : object }[keyof Parts]
>;

export const activitiesOf = <Parts extends Record<string, WorkerPart>>(parts: Parts): ActivitiesOf<Parts> =>
  Object.assign({}, ...Object.values(parts).map(({ activities }) => activities)) as ActivitiesOf<Parts>;
