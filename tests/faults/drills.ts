import { acceptLoss } from "./clusters/accept-loss.ts";
import { allLost } from "./clusters/all-lost.ts";
import { asynchControl } from "./clusters/asynch-control.ts";
import { controlPlaneAway } from "./clusters/control-plane-away.ts";
import { forcedPromotion } from "./clusters/forced-promotion.ts";
import { hungServer } from "./clusters/hung-server.ts";
import { nodeLost } from "./clusters/node-lost.ts";
import { partitions } from "./clusters/partitions.ts";
import { primaryLost } from "./clusters/primary-lost.ts";
import { restarts } from "./clusters/restarts.ts";
import { restoreDegraded } from "./clusters/restore-degraded.ts";
import { soak } from "./clusters/soak.ts";
import { stolenCertificate } from "./clusters/stolen-certificate.ts";
import { switchovers } from "./clusters/switchovers.ts";
import { patchOfThree } from "./clusters/window.ts";
import { dnsAlone } from "./dns-alone.ts";
import type { Drill } from "./drill.ts";
import { hostRestarted } from "./host-restarted.ts";
import { imageStores } from "./image-stores.ts";
import { monthEnd } from "./month-end.ts";
import { controlPlaneDown, setBack, temporalLost, temporalStopped } from "./outages.ts";
import { stackDownAndUp } from "./stack-life.ts";
import { clusterSteps, images, killsOfDatabases, repeats, steps, trace } from "./step-drills.ts";

/** In the order in which they run. Most of the drills of clusters share one, which is removed at the end. */
export const drills: readonly Drill[] = [
  steps,
  repeats,
  killsOfDatabases,
  images,
  clusterSteps,
  asynchControl,
  hungServer,
  forcedPromotion,
  patchOfThree,
  restoreDegraded,
  nodeLost,
  acceptLoss,
  soak,
  temporalStopped,
  temporalLost,
  setBack,
  controlPlaneDown,
  dnsAlone,
  hostRestarted,
  stackDownAndUp,
  imageStores,
  monthEnd,
  primaryLost,
  controlPlaneAway,
  partitions,
  switchovers,
  stolenCertificate,
  allLost,
  restarts,
  trace,
];
