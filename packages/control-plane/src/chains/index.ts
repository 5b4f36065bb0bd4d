export { readAnchors } from "./anchor.ts";
export { countHeads } from "./chain-store.ts";
export { createLinkJob } from "./link-job.ts";
export { type ChainFault, verifyPage } from "./verify-page.ts";
