export { announceReady } from "./announce-ready.ts";
export { release, releaseText } from "./release.ts";
