import { type DrillFigures, type Form, summarize } from "./drill-result.ts";
import type { Counts } from "./ledger.ts";
import type { Run } from "./trial.ts";

/** A form that does not exist, and what answers the question instead. */
type LeftOut = { leftOut: true; instead: string };
export const leftOut = (instead = ""): LeftOut => ({ leftOut: true, instead });

type Description = {
  /** For `--only`, and for the file of its result. */
  name: string;
  question: string;
  /** How many hosts the stack needs; with fewer than `complete`, some trials are left out. */
  hosts: { least: number; complete?: number };
  /** What the times of its result are. */
  measures?: string;
  goal?: string;
  /** Runs only when `--only` names it. */
  byNameOnly?: true;
};

type Definition<Settings> = Description & {
  short: Settings | LeftOut;
  long: Settings | LeftOut;
  /** What a form with these settings does, for people. */
  extent: (settings: Settings) => string;
  run: (run: Run, settings: Settings) => Promise<Counts | boolean | void>;
};

export type Drill = Description &
  Record<Form, { exists: boolean; extent: string }> & {
    run: (run: Run, form: Form) => Promise<DrillFigures>;
  };

export function defineDrill<Settings extends object>(definition: Definition<Settings>): Drill {
  const { short, long, extent, run: runWith, ...description } = definition;
  const forms = { short, long };
  const formOf = (form: Form): Drill[Form] => {
    const settings = forms[form];
    if (!isLeftOut(settings)) return { exists: true, extent: extent(settings) };
    return { exists: false, extent: ["none", settings.instead].filter(Boolean).join(": ") };
  };
  return {
    ...description,
    short: formOf("short"),
    long: formOf("long"),
    async run(run, form) {
      const settings = forms[form];
      if (isLeftOut(settings)) throw new Error(`${description.name} has no ${form} form.`);
      const first = run.trials.length;
      const counts = await runWith(run, settings);
      return summarize(run.trials.slice(first), typeof counts === "object" ? counts : {});
    },
  };
}

const isLeftOut = (form: object): form is LeftOut => "leftOut" in form;

/** All drills as a table in Markdown. */
export const tableOf = (drills: readonly Drill[]): string =>
  ["| drill | question | hosts | `--ci` | full |", "|---|---|---|---|---|", ...drills.map(rowOf), ""].join("\n");

function rowOf({ name, question, hosts: { least, complete }, short, long }: Drill): string {
  const hosts = complete === undefined ? `${least}` : `${least}; ${complete} for all trials`;
  return `| \`${name}\` | ${question} | ${hosts} | ${short.extent} | ${long.extent} |`;
}
