import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { ownerOfKey } from "../model/object-names.ts";

/** A store's notification in the format of S3. Stores also send others, such as a test when they start. */
const Notification = z.object({
  Records: z.array(z.object({ s3: z.object({ object: z.object({ key: z.string() }) }) })).max(1000),
});

/**
 * For the stores, on the worker's own address. A call can only trigger a check, so it needs no password, which some
 * stores could not send.
 */
export function hintRoute(app: FastifyInstance, hint: (imageIds: readonly number[]) => Promise<void>): void {
  app.post("/hints/objects", async (request) => {
    const uploads = uploadsIn(request.body);
    if (uploads.length > 0) await hint(uploads);
    return {};
  });
}

export function uploadsIn(body: unknown): number[] {
  const { data } = Notification.safeParse(body);
  const owners = (data?.Records ?? []).map(({ s3 }) => ownerOfKey(keyOf(s3.object.key)));
  return [...new Set(owners.filter((owner) => owner?.content === undefined).map((owner) => owner?.imageId))].filter(
    (id) => id !== undefined,
  );
}

/** S3 escapes keys in its notifications, but not every store does. */
function keyOf(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
