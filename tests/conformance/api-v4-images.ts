import { readFile } from "node:fs/promises";
import { until } from "@moorage/testkit/until.ts";
import { env } from "../kit/stack-env.ts";
import { type Check, calls, refusedWith, unless } from "./api-v4-calls.ts";
import type { ClientThings } from "./client-things.ts";
import { DISK_MB } from "./machine-things.ts";

const {
  createImage,
  deleteImage,
  getImage,
  getImages,
  getLinode,
  getLinodeDisk,
  getLinodeDisks,
  getLinodes,
  updateImage,
  uploadImage,
} = calls;

const WAIT_SECONDS = 900;
type Image = { id: string; status: string; size: number };

export async function images(things: ClientThings, check: Check): Promise<void> {
  await instances(things, check);
  await upload(things, check);
  await capture(things, check);
}

async function instances({ machine, disk }: ClientThings, check: Check): Promise<void> {
  await check(
    "getLinodes (the alias /linode/instances)",
    () => getLinodes(),
    unless(({ data }) => data.some(({ id }: { id: number }) => id === machine)),
  );
  await check(
    "getLinode",
    () => getLinode(machine),
    unless(({ id }) => id === machine),
  );
  await check(
    "getLinodeDisks",
    () => getLinodeDisks(machine),
    unless(({ data }) => data.some(({ id }: { id: number }) => id === disk)),
  );
  await check(
    "getLinodeDisk",
    () => getLinodeDisk(machine, disk),
    unless(({ filesystem }) => filesystem === "ext4"),
  );
}

/** The package has no waiter: the vendor's web manager polls. */
const untilAvailable = (id: string): Promise<Image> =>
  until(`${id} is available`, WAIT_SECONDS, async () => {
    const image = await getImage(id);
    return image.status === "available" && image;
  });

async function upload({ imageFile, label }: ClientThings, check: Check): Promise<void> {
  const made = await check("uploadImage, and the data to where it says", async () => {
    const { image, upload_to } = await uploadImage({ label, region: env("MOORAGE_REGION"), description: "A test" });
    const headers = { "content-type": "application/octet-stream" };
    const { status } = await fetch(upload_to, { method: "PUT", headers, body: await readFile(imageFile) });
    if (status !== 200) throw new Error(`The store answered ${status}.`);
    return image;
  });
  if (made === undefined) return;
  const { id } = made;
  await check(
    "getImage until available, by an id with a slash",
    () => untilAvailable(id),
    unless(({ size }) => size === DISK_MB),
  );
  await check(
    "getImages by label",
    () => getImages({}, { label }),
    unless(({ data }) => data.length === 1 && data[0]?.id === id),
  );
  await check(
    "updateImage",
    () => updateImage(id, { label: "renamed" }),
    unless((image) => image.label === "renamed"),
  );
  await check("deleteImage", () => deleteImage(id));
  await check(
    "getImage of what is gone is 404",
    refusedWith(404, () => getImage(id)),
  );
}

async function capture({ disk }: ClientThings, check: Check): Promise<void> {
  const made = await check(
    "createImage from a disk",
    () => createImage({ disk_id: disk, label: "captured" }),
    unless(({ status }) => status === "creating"),
  );
  if (made === undefined) return;
  await check("getImage until it was captured", () => untilAvailable(made.id));
  await check("deleteImage of what was captured", () => deleteImage(made.id));
}
