/** For other capabilities. The gateway is a process of its own: see bin/fleet.ts. */
export { createFleetActivities } from "./activities.ts";
export type { ArchiveCalls } from "./archive-calls.ts";
export type { CaptureCalls } from "./capture-calls.ts";
export { allocateNodes, releaseNodes } from "./allocate.ts";
export { type NewHost, registerHost } from "./enrol.ts";
export { areHeard, findHost, type HostRow } from "./host-store.ts";
export { addressOf, findNodes, findServedNode, type NodeRow, uidOf } from "./node-store.ts";
export { adoptNode, confirmGone, findHostNodes, stopWanting, wantAnew } from "./recover-nodes.ts";
export { giveSize, resizeNodes } from "./resize-nodes.ts";
export { createSamples, sampleSeries } from "./samples.ts";
export { type UntimedSpec, type Wanted, want } from "./want.ts";
