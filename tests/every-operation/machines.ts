import { randomUUID } from "node:crypto";
import { REGION, type World } from "../../packages/control-plane/src/testing/world.ts";
import { newCompute } from "./money.ts";

const HASH = Buffer.alloc(32, 7);
let made = 0;

/** A compute instance with a disk, as the operator registers them; on a host that can capture, if there is one. */
export async function newInstance(world: World, accountId: number): Promise<{ computeId: number; diskId: number }> {
  const { db, time } = world;
  const computeId = await newCompute(world, accountId);
  const host = await db.selectFrom("host_leases").select("host_id").orderBy("host_id").executeTakeFirst();
  await db
    .updateTable("host_leases")
    .set({ captures: true })
    .where("host_id", "=", host?.host_id ?? 0)
    .execute();
  await db
    .updateTable("computes")
    .set({ host_id: host?.host_id ?? null })
    .where("id", "=", computeId)
    .execute();
  const disk = db
    .insertInto("disks")
    .values({
      account_id: accountId,
      compute_id: computeId,
      label: "root",
      size_mb: 64,
      filesystem: "ext4",
      device: "/srv/disks/root",
      created_at: time.now,
      updated_at: time.now,
      deleted_at: null,
    })
    .returning("id");
  return { computeId, diskId: (await disk.executeTakeFirstOrThrow()).id };
}

/** An available image, as an import leaves it. */
export const newImage = (world: World, accountId: number): Promise<number> =>
  insertImage(world, { account_id: accountId, name: null, label: `image-${++made}`, created_by: "somebody" });

/** An image of the operator's. Returns its id. */
export async function newPublicImage(world: World): Promise<string> {
  const name = `distribution-${++made}`;
  await insertImage(world, { account_id: null, name, label: "A distribution", created_by: "operator" });
  return `operator/${name}`;
}

async function insertImage(
  { db, time }: World,
  whose: { account_id: number | null; name: string | null; label: string; created_by: string },
): Promise<number> {
  const { id } = await db
    .insertInto("images")
    .values({
      ...whose,
      description: null,
      status: "available",
      region: REGION,
      size_mb: 64,
      content: randomUUID(),
      raw_bytes: 64 * 2 ** 20,
      stored_bytes: 1000,
      raw_sha256: HASH,
      manifest_sha256: HASH,
      created_at: time.now,
      updated_at: time.now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await db
    .insertInto("image_copies")
    .values({ image_id: id, store: "default", status: "available", next_try_at: time.now, updated_at: time.now })
    .execute();
  return id;
}
