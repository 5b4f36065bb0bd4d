/** For other capabilities. The gateway is a process of its own: see bin/fleet.ts. */
export { createFleetActivities } from "./activities.ts";
export type { ArchiveCalls } from "./archive-calls.ts";
export type { CaptureCalls } from "./capture-calls.ts";
export { allocateNodes, allocateReplacement, releaseNodes } from "./allocate.ts";
export { amendDesired } from "./amend-desired.ts";
export { declareDead } from "./declare-dead.ts";
export { type NewHost, registerHost } from "./enrol.ts";
export { forTenants } from "./for-tenants.ts";
export { areReachable, findHost, type HostRow, readInstallation } from "./host-store.ts";
export { addressOf, findNodes, findServedNode, lockNodes, type NodeRow, uidOf } from "./node-store.ts";
export { SILENT_AFTER_MS } from "./placement.ts";
export { adoptNode, confirmGone, findHostNodes, clearDesiredSpec, reissueDesiredSpec } from "./recover-nodes.ts";
export { releaseReplaced } from "./release-replaced.ts";
export { setSize, setSizes, resizeNodes } from "./resize-nodes.ts";
export { createSamples, sampleSeries } from "./samples.ts";
export {
  checkPhase,
  findPhases,
  setWaitingOperation,
  type Progress,
  progressOf,
  type Share,
  type UntimedSpec,
  type HostsToWake,
  setDesiredSpecs,
} from "./set-desired.ts";
