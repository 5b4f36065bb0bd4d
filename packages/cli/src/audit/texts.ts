import type { ChainFault, VerifiedPart } from "@moorage/contract/operator";
import { defineTexts, text } from "@moorage/contract/texts";

type Broken = Pick<VerifiedPart, "chain" | "faults" | "first">;

/** What is wrong with the first broken row or link, and what to do. */
const sentences: Record<ChainFault["fault"], string> = {
  changed: "the row is not as it was written. Compare it with a backup that is older than the change",
  deleted: "the row was deleted. Get it from a backup",
  unlinked: "the row was inserted past the trigger, or its link was removed. Compare the table with a backup",
  repeated: "the row is linked twice: it was deleted and inserted again. Compare it with a backup",
  missing_links: "links before this one were removed. Compare `chain_links` with a backup",
  forged: "the link does not follow from the one before it. Compare `chain_links` with a backup",
  unproven:
    "the newest link was not made by this control plane, or with a key that is not in the key ring. If a key was removed, add it again; else compare `chain_links` and `chain_heads` with a backup",
  cut: "the chain ends before the anchor: newer rows were cut off, or PostgreSQL was set back. If you did not restore it, get the rows from a backup",
  replaced:
    "the chain has another link where the anchor is: rows were replaced, or PostgreSQL was set back. If you did not restore it, compare the rows with a backup",
};

const whereOf = ({ row, link }: ChainFault): string =>
  [
    ...(row === null ? [] : [`row ${row}`]),
    ...(link === null ? [] : [`link ${link.position} of ${link.linked} UTC`]),
  ].join(", ") || "the newest link";

const counted = (faults: number): string => (faults === 1 ? "1 fault" : `${faults} faults`);

/** The audit and its verification. */
export const texts = defineTexts("cli_audit", {
  verifying: text(
    ({ chain, links, rows }: { chain: string; links: number; rows: number }) =>
      `${chain}: ${links} links, ${rows} rows verified`,
    { chain: "ledger", links: 120, rows: 80 },
  ),
  chainsWhole: text(
    ({ compared }: { compared: boolean }) =>
      compared
        ? "Nothing was changed, deleted or inserted, and nothing was cut off since the anchor."
        : "Nothing was changed, deleted or inserted. Rows that were cut off at the end are found with --anchor.",
    { compared: true },
  ),
  anchor: text(
    ({ anchor }: { anchor: string }) => `Store this anchor outside of PostgreSQL, for --anchor:\n${anchor}`,
    { anchor: "audit:120:yVS3cKVbHpcTF52sp08NLJ5OVRuqkJnzuwvSo3eK9zE" },
  ),
  chainsBroken: text(
    ({ broken }: { broken: readonly Broken[] }) =>
      [
        "Data was changed outside of the control plane.",
        ...broken.map(({ chain, faults, first }) =>
          first === null
            ? `${chain}: ${counted(faults)}`
            : `${chain}: ${counted(faults)}, first in ${whereOf(first)}: ${sentences[first.fault]}.`,
        ),
        "Find out who had access to PostgreSQL. Change its passwords.",
      ].join("\n"),
    {
      broken: [
        {
          chain: "ledger",
          faults: 1,
          first: { fault: "changed", row: "7/1025", link: null },
        },
      ],
    },
  ),
});
