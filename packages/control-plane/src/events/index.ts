export { emit, emitting, endEvent, joinOperation, type NewEvent, recordChange, type RecordedChange } from "./emit.ts";
export { createEventPartitionsJob } from "./event-partitions.ts";
export { eventRoutes } from "./routes.ts";
