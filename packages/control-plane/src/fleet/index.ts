/** For other capabilities. The gateway is a process of its own: see bin/fleet.ts. */
export { findServerToCompare, saveChargesCompared } from "./charges-compared.ts";
export { createFleetActivities, forTenants, type Progress, progressOf } from "./check-phase.ts";
export type { ArchiveCalls, CaptureCalls } from "./host-calls.ts";
export { allocateNodes, allocateElsewhere, allocateReplacement, releaseNodes } from "./allocate.ts";
export {
  amendDesired,
  findPhases,
  type HostsToWake,
  setDesiredSpecs,
  setWaitingOperation,
  type Share,
  type UntimedSpec,
} from "./set-desired.ts";
export {
  addMembers,
  checkSilent,
  checkSoon,
  insertCluster,
  raiseMembersVersion,
  saveCheck,
  setMembersVersion,
} from "./cluster-store.ts";
export { derivationSecret, deriveSecret } from "./derive-secret.ts";
export { declareDead, releaseReplaced } from "./dead-hosts.ts";
export { enrolAgain, type NewHost, registerHost, revokeHost } from "./enrol.ts";
export {
  allowDeletions,
  areReachable,
  countSilentHosts,
  findHost,
  type HostRow,
  lockRegion,
  readInstallation,
  type SeenHosts,
} from "./host-store.ts";
export { endRecovery, needsRecovery, openRecovery, startRecovery } from "./prove-current.ts";
export {
  addressOf,
  addVerificationAlert,
  dropNodeAlerts,
  findNodes,
  findServedNode,
  hasReportedDesired,
  lockNodes,
  markReplaced,
  type NodeRow,
  takeNodeAlert,
  uidOf,
  unmarkReplaced,
} from "./node-store.ts";
export { listSharedCertificates } from "./host-sources.ts";
export { type ClusterSecret, clusterSecretPlace, sealedByFleet } from "./sealed-columns.ts";
export { SILENT_AFTER_MS } from "./placement.ts";
export { provenDigest } from "./told.ts";
export { markNotified } from "./primary-changes.ts";
export {
  adoptNode,
  confirmGone,
  findHostNodes,
  clearDesiredSpec,
  markLost,
  reissueDesiredSpec,
} from "./recover-nodes.ts";
export { countSealedSpecs, resealSpecs } from "./reseal-specs.ts";
export { setSize, setSizes, resizeNodes } from "./resize-nodes.ts";
export { createSamples, sampleSeries } from "./samples.ts";
