import { type RecordedChange, recordChange } from "#events/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Owner } from "./owner.ts";

/** A token of the user, or an app that they authorized. */
type Change = RecordedChange & { of: { kind: "tokens" | "apps"; id: number; label: string } };

export const recordTokenChange = (tx: Tx, by: Owner, { of, ...change }: Change): Promise<void> =>
  recordChange(tx, by, {
    ...change,
    target: of.kind === "tokens" ? `token/${of.id}` : `app/${of.id}`,
    entity: { id: of.id, label: of.label, type: "token", url: `/v4/profile/${of.kind}/${of.id}` },
  });
