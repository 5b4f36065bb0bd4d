import { until } from "@moorage/testkit/until.ts";
import { env } from "../kit/stack-env.ts";
import type { Tenant } from "../kit/tenant.ts";
import { surely } from "./fuzz-identity.ts";
import { aDisk, newInstance } from "./machine-things.ts";

type Account = { id: number; owner: Tenant };
export type ImageThings = { imageId: string; computeId: number; diskId: number };

const newUpload = (owner: Tenant, label: string): Promise<{ image: { id: string }; upload_to: string }> =>
  surely(owner, "POST", "/v4/images/upload", { label, region: env("MOORAGE_REGION") });

/** One of each kind. The image waits for its data. The account's limit bounds how many the fuzzer can create. */
export async function imageThings({ id, owner }: Account): Promise<ImageThings> {
  const { image } = await newUpload(owner, "fuzz");
  return { imageId: image.id, ...(await newInstance(id)) };
}

export const imageBodies = (diskId: number): Record<string, { fields: object; named?: string }> => ({
  uploadImage: { fields: { region: env("MOORAGE_REGION"), description: "Fuzz", cloud_init: false }, named: "label" },
  captureImage: { fields: { disk_id: diskId }, named: "label" },
  updateImage: { fields: { description: null }, named: "label" },
});

/** What random input hardly ever gets right, done once in order with separate objects, and counted like the rest. */
export async function aDayOfImages(owner: Tenant, accountId: number): Promise<void> {
  const { computeId, diskId } = await newInstance(accountId);
  for (const path of ["", `/${computeId}`, `/${computeId}/disks`, `/${computeId}/disks/${diskId}`])
    await surely(owner, "GET", `/v4/compute/instances${path}`);
  const { image, upload_to } = await newUpload(owner, "a day");
  const headers = { "content-type": "application/octet-stream" };
  const sent = await fetch(upload_to, { method: "PUT", body: aDisk(), headers });
  if (!sent.ok) throw new Error(`The data were answered ${sent.status}.`);
  const captured = await surely<{ id: string }>(owner, "POST", "/v4/images", { disk_id: diskId });
  for (const { id } of [image, captured])
    await until(`${id} is available`, 180, async () => {
      const path = `/v4/images/${encodeURIComponent(id)}`;
      return (await surely<{ status: string }>(owner, "GET", path)).status === "available";
    });
  await surely(owner, "PUT", `/v4/images/${encodeURIComponent(image.id)}`, { label: "the evening" });
  for (const { id } of [image, captured]) await surely(owner, "DELETE", `/v4/images/${encodeURIComponent(id)}`);
  await surely(owner, "GET", "/v4/images");
}
