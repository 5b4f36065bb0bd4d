import type { KeyNeed } from "@moorage/contract/operator";
import { defineTexts, text } from "@moorage/contract/texts";

type Sum = { rewrapped: number; resent: number };
type Needed = { id: string; in_ring: boolean; recovering: boolean; needs: readonly KeyNeed[] };

/** What ends a need. A column of a table is the rule, the others are exceptions. */
function endOf({ by }: KeyNeed): string {
  if (by === "chain_heads.code") return "worker signs it with the current key within a minute";
  if (by === "idempotency_keys") return "they expire within 24 hours";
  if (by.startsWith("host "))
    return "its specs are sent again by `moorage admin keys rotate`, and count until the host has reported them, within 5 minutes";
  return "run `moorage admin keys rotate`";
}

const lineOf = (need: KeyNeed): string => `  ${need.by}, ${need.count}: ${endOf(need)}.`;

/** The keys of the key ring and their rotation. */
export const texts = defineTexts("cli_keys", {
  rotating: text(
    ({ rewrapped, resent }: Sum) => `values rewrapped: ${rewrapped}, specs sent to hosts again: ${resent}`,
    {
      rewrapped: 4000,
      resent: 0,
    },
  ),
  rotated: text(
    ({ rewrapped, resent }: Sum) => `Values rewrapped: ${rewrapped}. Specs sent to hosts again: ${resent}.`,
    { rewrapped: 4210, resent: 12 },
  ),
  onlyKey: text(
    ({ id }: { id: string }) =>
      `${id} is the only key. To replace it, add another key to MOORAGE_KEYS_FILE of every process and restart all of them, then make it the current one and restart all of them again, and run \`moorage admin keys rotate\`.`,
    { id: "k1" },
  ),
  keyRemovable: text(
    ({ id }: { id: string }) =>
      `Key ${id} can be removed from the key ring: nothing in PostgreSQL and on the hosts needs it. Make a backup of PostgreSQL first, and keep the key with the backups that are older: they need it.`,
    { id: "k1" },
  ),
  keyNeeded: text(
    ({ id, in_ring, recovering, needs }: Needed) =>
      [
        in_ring
          ? `Key ${id} must stay in the key ring.`
          : `Key ${id} is not in the key ring of \`api\`. Add it again: what it sealed cannot be read.`,
        ...(recovering
          ? ["PostgreSQL was set back. Run `moorage admin recover`: hosts may show what the key sealed."]
          : []),
        ...needs.map(lineOf),
      ].join("\n"),
    {
      id: "k1",
      in_ring: true,
      recovering: false,
      needs: [
        { by: "users.tfa_secret", count: 3 },
        { by: "idempotency_keys", count: 2 },
        { by: "chain_heads.code", count: 1 },
        { by: "host h1", count: 4 },
      ],
    },
  ),
  valuesDamaged: text(
    ({ rewrapped, damaged }: Sum & { damaged: readonly string[] }) =>
      [
        `Values rewrapped: ${rewrapped}. Values that do not open: ${damaged.length}. Somebody changed them, or they are of another key with the same id. Compare them with a backup:`,
        ...damaged.map((value) => `  ${value}`),
      ].join("\n"),
    { rewrapped: 4209, resent: 0, damaged: ["users.tfa_secret of 7/12"] },
  ),
});
