import { DiskManifest } from "@moorage/disk-image";
import { z } from "zod";

/** The child's reports: how much it has read, and finally the verdict. */
export const Report = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), bytes: z.int().nonnegative() }),
  z.object({ kind: z.literal("taken"), manifest: DiskManifest, upload_sha256: z.hex().length(64) }),
  z.object({
    kind: z.literal("refused"),
    reason: z.object({ code: z.string().regex(/^image\.[a-z_]{1,50}$/), text: z.string().min(1).max(1000) }),
  }),
]);
export type Report = z.output<typeof Report>;
export type Verdict = Exclude<Report, { kind: "progress" }>;
