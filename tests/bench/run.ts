/** `pnpm bench`: figures for docs/performance.md, against the running stack, on an otherwise idle machine. */
import { allowDeletions } from "../kit/moorage.ts";
import { benchProvision } from "./provision.ts";

await allowDeletions(500);
process.exitCode = (await benchProvision()) ? 0 : 1;
