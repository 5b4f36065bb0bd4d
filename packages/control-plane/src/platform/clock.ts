/** Time is injected, so that a test can move it. Workflows use Temporal's clock instead. */
export type Clock = () => Date;
export const systemClock: Clock = () => new Date();
