export { emit, emitting, endEvent, joinOperation, type NewEvent } from "./emit.ts";
export { createEventPartitionsJob } from "./event-partitions.ts";
export { eventRoutes } from "./routes.ts";
export { recordChange, type RecordedChange } from "./record-change.ts";
