import type { ImageUpload, NewImageUpload } from "@moorage/contract";
import { emit } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { requireCurrent } from "#operations/index.ts";
import { audit } from "#platform/db/audit.ts";
import { transact } from "#platform/db/database.ts";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { entityOfImage, targetOfImage } from "../model/entity.ts";
import { insertImage, nextImageId, saveImage } from "../model/image-store.ts";
import { admitImage } from "../model/limits.ts";
import { uploadKey } from "../model/object-names.ts";
import type { ImageDeps } from "../model/stores.ts";
import { texts } from "../model/texts.ts";
import { imagePlaces, viewOfImage } from "../model/view.ts";

const FIRST_CHECK_SECONDS = 2;
/** The size is not known yet, but at least 1 MB: where nothing fits any more the upload is refused now. */
const unknownSize = { addMb: 1, rawMb: 0 };

/**
 * The client sends the data directly to the store, with an address for this image that is valid as long as the upload
 * is awaited.
 */
export async function acceptUpload(
  { db, clock, images, imageStores }: ImageDeps,
  by: Principal,
  { label, region, description, cloud_init }: NewImageUpload,
  idempotency: Idempotency,
): Promise<ImageUpload> {
  const places = await imagePlaces(db, imageStores);
  const faults = regionFaults(places.regions, region);
  if (faults.length > 0) throw new DomainError("invalid", ...faults);

  return transact(db, "api.uploadImage", async (tx) => {
    await idempotency.claim(tx);
    // An id that was assigned before our database was set back has an address that may still be valid.
    await requireCurrent(tx);
    const at = clock();
    const id = await nextImageId(tx);
    const until = new Date(at.getTime() + images.uploadHours * 3_600_000);
    await admitImage(tx, by, id, images, unknownSize);
    const image = await insertImage(tx, {
      id,
      account_id: by.accountId,
      name: null,
      label,
      description: description ?? null,
      region,
      capabilities: cloud_init ? ["cloud-init"] : [],
      created_by: by.username,
      status: "pending_upload",
      upload_until: until,
      remove_at: until,
      created_at: at,
      updated_at: at,
      next_check_at: new Date(at.getTime() + FIRST_CHECK_SECONDS * 1000),
    });
    await audit(tx, {
      at,
      account: by.accountId,
      actor: by.username,
      action: "upload_image",
      target: targetOfImage(id),
      detail: by.clientId === null ? {} : { client: by.clientId },
    });
    const eventId = await emit(tx, {
      accountId: by.accountId,
      username: by.username,
      action: "image_upload",
      status: "started",
      requested: true,
      entity: entityOfImage(image),
      at,
    });
    await saveImage(tx, image, { event_id: eventId });
    // Signed here, without a call to the store.
    const upload_to = await imageStores.of(region).presignPut(uploadKey(id));
    const reply = { image: viewOfImage(image, places), upload_to };
    await idempotency.keep(tx, reply);
    return reply;
  });
}

/** Faults of the region, for a request whose other fields are malformed. */
export const faultsOfPart = async (
  { db, imageStores }: ImageDeps,
  { region }: Partial<NewImageUpload>,
): Promise<ErrorDetail[]> =>
  region === undefined ? [] : regionFaults((await imagePlaces(db, imageStores)).regions, region);

const regionFaults = (regions: readonly string[], region: string): ErrorDetail[] =>
  regions.includes(region)
    ? []
    : [{ field: "region", reason: invalidReason("region", texts.regionUnknown({ regions })) }];
