export { createImageServerMetrics } from "./image-server-metrics.ts";
export { findImageToSend, findPublicImageToSend, type ImageToSend } from "./image-to-send-store.ts";
export { type ImageServerAddress, signLink } from "./link.ts";
export { createImageServer, type ImageServerDeps, type ImageServerOptions } from "./server.ts";
