import { z } from "zod";
import { defineOperation } from "../operation.ts";

/** `by`: a column of a table, `idempotency_keys`, or `host` and the name of a host that has specs sealed with the key. */
const KeyNeed = z.object({ by: z.string(), count: z.int() });
export type KeyNeed = z.output<typeof KeyNeed>;

const KeyInUse = z.object({
  id: z.string(),
  current: z.boolean(),
  /** Of the `api` process that answers. */
  in_ring: z.boolean(),
  needed_by: z.array(KeyNeed),
  /** Nothing needs it, and it is not the current key. */
  removable: z.boolean(),
});
export type KeyInUse = z.output<typeof KeyInUse>;

export const KeyStatus = z.object({
  /** PostgreSQL was set back, or a recovery is not complete: until its end hosts may show what any key sealed. */
  recovering: z.boolean(),
  data: z.array(KeyInUse),
  /** What needs a key that is not known yet. It may be any but the current one. */
  unknown: z.array(KeyNeed),
});
export type KeyStatus = z.output<typeof KeyStatus>;

export const showKeys = defineOperation({
  audience: "operator",
  tag: "Keys",
  id: "showKeys",
  summary: "Show the keys of the key ring, and what still needs each",
  method: "GET",
  path: "/admin/keys",
  reply: KeyStatus,
});

export const KeyRotation = z.object({
  current: z.string(),
  rewrapped: z.int(),
  /** Specs that were sent to hosts again, to be sealed with the current key. */
  resent: z.int(),
  /** Values that do not open, such as `users.tfa_secret of 7/12`. They stay as they are. */
  damaged: z.array(z.string()),
  /** The time was over: there is more. */
  unfinished: z.boolean(),
});
export type KeyRotation = z.output<typeof KeyRotation>;

export const rotateKeys = defineOperation({
  audience: "operator",
  tag: "Keys",
  id: "rotateKeys",
  summary: "Encrypt what former keys of the key ring have sealed with the current one",
  note: "Works for about 5 s. Repeat it until it has rewrapped nothing and is not `unfinished`.",
  method: "POST",
  path: "/admin/keys/rotation",
  reply: KeyRotation,
});
