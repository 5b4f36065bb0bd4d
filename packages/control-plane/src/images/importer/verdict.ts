import { DiskManifest } from "@moorage/disk-image";
import { z } from "zod";
import { RefusalText } from "./refusal.ts";

/** The child's reports: how much it has read, and finally the verdict. */
export const Report = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), bytes: z.int().nonnegative() }),
  z.object({ kind: z.literal("taken"), manifest: DiskManifest, upload_sha256: z.hex().length(64) }),
  z.object({ kind: z.literal("refused"), reason: RefusalText }),
]);
export type Report = z.output<typeof Report>;
export type Verdict = Exclude<Report, { kind: "progress" }>;
