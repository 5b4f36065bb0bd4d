import { randomUUID } from "node:crypto";
import type { Image, ImageUpload } from "@moorage/contract";
import type { Updateable } from "kysely";
import { createPurgingImageStores } from "#images/index.ts";
import type { Tables } from "#platform/db/tables.ts";
import { REGION, type World } from "./world.ts";

export const IMAGES = "/v4/images";
export const UPLOAD = `${IMAGES}/upload`;
export type ImagePage = { data: Image[]; page: number; pages: number; results: number };
export type Person = Awaited<ReturnType<World["customer"]>>;

export const upload = (person: Pick<Person, "post">, change: object = {}) =>
  person.post<ImageUpload>(UPLOAD, { label: "An image", region: REGION, ...change });

export const numberOf = ({ id }: { id: string }): number => Number(id.slice("private/".length));

export const imageRow = (world: World, { id }: { id: string }) =>
  world.db.selectFrom("images").selectAll().where("id", "=", numberOf({ id })).executeTakeFirstOrThrow();

/** The state after an upload with valid data. */
export async function availableImage(
  world: World,
  person: Person,
  change: Updateable<Tables["images"]> = {},
): Promise<Image> {
  const { image } = (await upload(person, { label: change.label ?? "An image" })).body;
  const id = numberOf(image);
  await world.db
    .updateTable("images")
    .set({
      status: "available",
      size_mb: 100,
      content: randomUUID(),
      raw_bytes: 100 * 1024 ** 2,
      next_check_at: null,
      remove_at: null,
      ...change,
    })
    .where("id", "=", id)
    .execute();
  await world.db
    .insertInto("image_copies")
    .values({
      image_id: id,
      store: "default",
      status: "available",
      next_try_at: world.time.now,
      updated_at: world.time.now,
    })
    .execute();
  return (await person.get<Image>(`${IMAGES}/${image.id}`)).body;
}

/** A public image, which belonged to an account before. */
export async function publicImage(world: World, name: string, change: object = {}): Promise<Image> {
  const { id } = await availableImage(world, await world.customer());
  await world.operator.post(`/admin/images/${numberOf({ id })}/publish`, { name, label: name, ...change });
  return (await world.anonymous.get<Image>(`${IMAGES}/operator/${name}`)).body;
}

/** Two stores that only sign addresses: one for each of two regions. */
export const twoStores = (first: string, second: string) => {
  const nowhere = { url: "http://127.0.0.1:9", region: "us-east-1", access_key: "nobody", secret_key: "nothing" };
  return createPurgingImageStores(
    {
      here: { ...nowhere, regions: [first], bucket: "here" },
      there: { ...nowhere, regions: [second], bucket: "there" },
    },
    24,
  );
};

export const grant = (
  world: World,
  { accountId, userId }: Person,
  id: number,
  permission: "read_only" | "read_write",
) =>
  world.db
    .insertInto("entity_grants")
    .values({ account_id: accountId, user_id: userId, entity_type: "image", entity_id: id, permission })
    .execute();

export const grantGlobal = (world: World, { accountId, userId }: Person, ...grants: string[]) =>
  world.db
    .updateTable("users")
    .set({ global_grants: JSON.stringify(Object.fromEntries(grants.map((each) => [each, true]))) })
    .where("account_id", "=", accountId)
    .where("id", "=", userId)
    .execute();
