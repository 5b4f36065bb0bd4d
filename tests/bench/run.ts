/**
 * `pnpm bench [--only NAME] [--events N]`: figures for docs/performance.md, against the running stack, on an otherwise
 * idle machine. NAME: provision | reads | creates | flood | events.
 */
import { parseArgs } from "node:util";
import { allowDeletions } from "../kit/moorage.ts";
import { benchCreates } from "./creates.ts";
import { benchEvents } from "./events.ts";
import { benchFlood } from "./flood.ts";
import { benchProvision } from "./provision.ts";
import { benchReads } from "./reads.ts";

const { values } = parseArgs({ options: { only: { type: "string" }, events: { type: "string", default: "5000000" } } });
const benches: Record<string, () => Promise<boolean>> = {
  provision: benchProvision,
  reads: benchReads,
  creates: benchCreates,
  flood: benchFlood,
  events: () => benchEvents(Number(values.events)),
};
const chosen = Object.entries(benches).filter(([name]) => values.only === undefined || values.only === name);
if (chosen.length === 0) {
  console.error(`There is no bench ${values.only}; there are ${Object.keys(benches).join(", ")}.`);
  process.exit(2);
}
await allowDeletions(500);
for (const [name, bench] of chosen) {
  console.log(`--- ${name}`);
  if (!(await bench())) process.exitCode = 1;
}
