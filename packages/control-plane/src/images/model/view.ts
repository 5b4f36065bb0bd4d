import { type Image, type ImageRegionStatus, toTimestamp } from "@moorage/contract";
import type { Db, Tx } from "#platform/db/database.ts";
import { listRegions } from "#regions/index.ts";
import { wireIdOf } from "./entity.ts";
import { copiesOf, type ImageCopy, type ImageRow } from "./image-store.ts";
import type { ImageStores } from "./stores.ts";

/** Where images can be stored: the regions of the catalogue, and the store that serves each. */
export type ImagePlaces = { regions: readonly string[]; storeOf: (region: string) => string };

export const imagePlaces = async (db: Db | Tx, imageStores: ImageStores): Promise<ImagePlaces> => ({
  regions: (await listRegions(db)).map(({ id }) => id),
  storeOf: (region) => imageStores.of(region).name,
});

export async function viewsOfImages(
  { db, imageStores }: { db: Db | Tx; imageStores: ImageStores },
  rows: readonly ImageRow[],
): Promise<Image[]> {
  const places = await imagePlaces(db, imageStores);
  const copies = Map.groupBy(
    await copiesOf(
      db,
      rows.map(({ id }) => id),
    ),
    ({ image_id }) => image_id,
  );
  return rows.map((row) => viewOfImage(row, places, copies.get(row.id)));
}

export const showImage = async (deps: { db: Db | Tx; imageStores: ImageStores }, row: ImageRow): Promise<Image> =>
  (await viewsOfImages(deps, [row]))[0] as Image;

/** A new image has no copies yet. */
export function viewOfImage(row: ImageRow, places: ImagePlaces, copies: readonly ImageCopy[] = []): Image {
  const stored = new Set(copies.filter(({ status }) => status === "available").map(({ store }) => store));
  const stateIn = (region: string): ImageRegionStatus => {
    const store = places.storeOf(region);
    if (row.status === "available") return stored.has(store) ? "available" : "pending replication";
    return store === places.storeOf(row.region) ? "creating" : "pending replication";
  };
  const regions = places.regions.map((region) => ({ region, status: stateIn(region) }));
  const copied = new Set(
    regions.filter(({ status }) => status === "available").map(({ region }) => places.storeOf(region)),
  );
  return {
    id: wireIdOf(row),
    label: row.label,
    description: row.description,
    capabilities: row.capabilities,
    created: toTimestamp(row.created_at),
    updated: toTimestamp(row.updated_at),
    created_by: row.created_by,
    deprecated: row.deprecated,
    eol: row.eol === null ? null : toTimestamp(row.eol),
    expiry: row.expiry === null ? null : toTimestamp(row.expiry),
    is_public: row.account_id === null,
    size: row.size_mb,
    status: row.status,
    type: row.type,
    vendor: row.vendor,
    tags: [],
    regions,
    total_size: row.size_mb * copied.size,
  };
}
