import * as contract from "@moorage/contract/operator";
import { Command } from "commander";
import { texts } from "../keys/texts.ts";
import { tableOf } from "../output.ts";
import { Refused } from "../refused.ts";
import type { AdminDeps } from "./admin-command.ts";

const MOST_PASSES = 3;

export const keyStatusCommand = ({ client, output }: AdminDeps): Command =>
  new Command("status").description(contract.showKeys.summary).action(async () => {
    const status = await client().call(contract.showKeys);
    output.printResult(status, shown(status));
  });

/** Many calls, one after the other: the control plane rewraps for a few seconds at a time. */
export const keyRotateCommand = ({ client, output, progress }: AdminDeps): Command =>
  new Command("rotate")
    .description(`${contract.rotateKeys.summary}. Can be interrupted and repeated at any time`)
    .action(async () => {
      const calling = client();
      const sum = { rewrapped: 0, resent: 0 };
      const damaged = new Set<string>();
      // A process that was not restarted writes values of the former key as long as it runs.
      for (let passes = 0; passes < MOST_PASSES; ) {
        const part = await calling.call(contract.rotateKeys);
        sum.rewrapped += part.rewrapped;
        sum.resent += part.resent;
        for (const value of part.damaged) damaged.add(value);
        progress(texts.rotating(sum).text);
        if (!part.unfinished) passes = part.rewrapped > 0 ? passes + 1 : MOST_PASSES;
      }
      progress(undefined);
      const status = await calling.call(contract.showKeys);
      if (damaged.size > 0) throw new Refused(texts.valuesDamaged({ ...sum, damaged: [...damaged] }));
      output.printResult({ ...sum, ...status }, [texts.rotated(sum).text, shown(status)].join("\n\n"));
    });

function shown({ data, unknown, recovering }: contract.KeyStatus): string {
  const rows = data.map(({ id, current, in_ring, needed_by }) => ({
    key: id,
    state: current ? "current" : in_ring ? "former" : "not in the key ring",
    "needed by": needed_by.map(({ by, count }) => `${by}: ${count}`).join(", "),
  }));
  const former = data.filter(({ current }) => !current);
  return [
    tableOf(rows),
    "",
    ...(former.length === 0 ? [texts.onlyKey({ id: data[0]?.id ?? "" }).text] : []),
    ...former.map((key) =>
      key.removable
        ? texts.keyRemovable(key).text
        : texts.keyNeeded({ ...key, recovering, needs: [...key.needed_by, ...unknown] }).text,
    ),
  ].join("\n");
}
