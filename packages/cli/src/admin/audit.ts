import * as contract from "@moorage/contract/operator";
import { Command } from "commander";
import { texts } from "../audit/texts.ts";
import { tableOf } from "../output.ts";
import { Refused } from "../refused.ts";
import type { AdminClient } from "./admin-client.ts";
import type { AdminDeps } from "./admin-command.ts";

type Verified = Omit<contract.VerifiedPart, "next" | "anchor">;

/** Many calls, one after the other: the control plane verifies a part at a time. */
export const verifyCommand = ({ client, output, progress }: AdminDeps): Command =>
  new Command("verify")
    .description("Verify that nobody changed the audit or the money records, and fail if somebody did")
    .option(
      "--anchor <text>",
      "anchor that an earlier verification printed or the worker logged: also verify that nothing was cut off since",
    )
    .action(async ({ anchor }: { anchor?: string }) => {
      const { chains, anchor: newest } = await verifyAll(client(), anchor, (part) =>
        progress(texts.verifying(part).text),
      ).finally(() => progress(undefined));
      const broken = chains.filter(({ faults }) => faults > 0);
      if (broken.length > 0) throw new Refused(texts.chainsBroken({ broken }));
      const rows = chains.map(({ chain, rows: count, waiting, from, to }) => ({
        chain,
        rows: count,
        waiting,
        from,
        to,
      }));
      output.printResult(
        { chains, anchor: newest },
        [
          texts.chainsWhole({ compared: anchor !== undefined }).text,
          tableOf(rows),
          texts.anchor({ anchor: newest }).text,
        ].join("\n\n"),
      );
    });

async function verifyAll(client: AdminClient, anchor: string | undefined, onPart: (sofar: Verified) => void) {
  const chains = new Map<string, Verified>();
  const anchors: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { ...(cursor !== undefined && { cursor }), ...(anchor !== undefined && { anchor }) };
    const { next, anchor: newest, ...part } = await client.call(contract.verifyAudit, { query });
    const sum = added(chains.get(part.chain), part);
    chains.set(part.chain, sum);
    onPart(sum);
    if (newest !== null) anchors.push(newest);
    cursor = next;
  }
  return { chains: [...chains.values()], anchor: anchors.join(" ") };
}

const added = (sum: Verified | undefined, part: Verified): Verified =>
  sum === undefined
    ? part
    : {
        chain: sum.chain,
        links: sum.links + part.links,
        rows: sum.rows + part.rows,
        from: sum.from ?? part.from,
        to: part.to ?? sum.to,
        waiting: sum.waiting + part.waiting,
        faults: sum.faults + part.faults,
        first: sum.first ?? part.first,
      };
