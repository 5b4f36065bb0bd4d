import { type Generation, isNewer, NodeSpec } from "@moorage/contract/agent";
import { z } from "zod";

/** What remains of a removed node, so that an older control plane cannot bring it back. */
export const TombstoneRecord = z.object({
  operation: z.int(),
  epoch: z.int(),
  generation: z.int(),
  at: z.string(),
  spec: NodeSpec,
});
export type TombstoneRecord = z.output<typeof TombstoneRecord>;

/** The fields that a spec of any version has: enough to report it as unsupported. */
const Envelope = z.looseObject({ node: z.uuid(), epoch: z.int(), generation: z.int(), seal: z.string().optional() });
export type Envelope = z.output<typeof Envelope>;

export type Acceptance =
  | { kind: "store"; spec: NodeSpec }
  | { kind: "gone"; record: TombstoneRecord }
  | { kind: "unsupported"; envelope: Envelope; message: string }
  | { kind: "stale" }
  | { kind: "unreadable" };

export type Known = { stored?: Generation | undefined; tombstone?: TombstoneRecord | undefined };

/** Decides how to handle one entry of a desired-state reply. */
export function acceptSpec(raw: unknown, known: (node: string) => Known): Acceptance {
  const envelope = Envelope.safeParse(raw);
  if (!envelope.success) return { kind: "unreadable" };
  const { stored, tombstone } = known(envelope.data.node);
  if ((stored && !isNewer(envelope.data, stored)) || (tombstone && !isNewer(envelope.data, tombstone)))
    return { kind: "stale" };

  const parsed = NodeSpec.safeParse(raw);
  if (!parsed.success) {
    const message = `This agent does not understand the spec: ${z.prettifyError(parsed.error)}`.slice(0, 1000);
    return { kind: "unsupported", envelope: envelope.data, message };
  }
  const spec = parsed.data;
  // Already removed: nothing is left to do, and the answer must carry the generation that was requested.
  if (spec.tombstone && tombstone && !stored) {
    const { epoch, generation } = spec;
    return { kind: "gone", record: { ...tombstone, operation: spec.tombstone.operation, epoch, generation, spec } };
  }
  return { kind: "store", spec };
}
