export { createDepotMetrics } from "./depot-metrics.ts";
export { findImageToSend, findPublicImageToSend, type ImageToSend } from "./image-to-send-store.ts";
export { type DepotAddress, ImageFormat, signLink } from "./link.ts";
export { createDepot, type DepotDeps, type DepotServing } from "./server.ts";
