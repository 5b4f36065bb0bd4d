/**
 * `pnpm bench [--only NAME] [--events N] [--megabytes N] [--accounts N]`: measurements for docs/performance.md, against
 * the running stack, on an otherwise idle machine. NAME: provision | provision-of-three | reads | creates | flood |
 * events | month-end | backup (a separate host, and `--megabytes` of data) | images (an upload of `--megabytes`).
 */
import { parseArgs } from "node:util";
import { chosen } from "../kit/chosen.ts";
import { allowDeletions } from "../kit/moorage.ts";
import { benchBackup } from "../../packages/agent/src/testing/bench-backup.ts";
import { benchCreates } from "./creates.ts";
import { benchEvents } from "./events.ts";
import { benchFlood } from "./flood.ts";
import { benchImages } from "./images.ts";
import { benchMonthEnd } from "./month-end.ts";
import { benchProvision } from "./provision.ts";
import { benchProvisionOfThree } from "./provision-of-three.ts";
import { benchReads } from "./reads.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    events: { type: "string", default: "5000000" },
    megabytes: { type: "string" },
    accounts: { type: "string", default: "10000" },
  },
});
const benches: Record<string, () => Promise<boolean>> = {
  provision: benchProvision,
  "provision-of-three": benchProvisionOfThree,
  reads: benchReads,
  creates: benchCreates,
  flood: benchFlood,
  events: () => benchEvents(Number(values.events)),
  "month-end": () => benchMonthEnd(Number(values.accounts)),
  backup: () => benchBackup(Number(values.megabytes ?? 2048)),
  images: () => benchImages(Number(values.megabytes ?? 5000)),
};
const selected = chosen("bench", benches, values.only);
await allowDeletions(500);
for (const [name, bench] of selected) {
  console.log(`--- ${name}`);
  if (!(await bench())) process.exitCode = 1;
}
