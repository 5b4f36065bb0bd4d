import { z } from "zod";
import { defineOperation } from "./operation.ts";
import { Empty, offered, page, Timestamp } from "./wire.ts";

export const ImageStatus = z.enum(["creating", "pending_upload", "available"]);
export type ImageStatus = z.output<typeof ImageStatus>;

/** State of a copy in one region. */
export const ImageRegionStatus = z.enum(["available", "creating", "pending replication"]);
export type ImageRegionStatus = z.output<typeof ImageRegionStatus>;

export const Image = z.object({
  /** `operator/<name>` for public images, `private/<number>` for those of an account. */
  id: z.string(),
  label: z.string(),
  description: z.string().nullable(),
  capabilities: z.array(z.string()),
  created: Timestamp,
  updated: Timestamp,
  created_by: z.string(),
  deprecated: z.boolean(),
  eol: Timestamp.nullable(),
  expiry: Timestamp.nullable(),
  is_public: z.boolean(),
  /** MB needed to deploy it; 0 until it is available. */
  size: z.int(),
  status: ImageStatus,
  type: z.enum(["manual", "automatic"]),
  vendor: z.string().nullable(),
  /** Beyond the interface: later clients fail without these. */
  tags: z.array(z.string()),
  regions: z.array(z.object({ region: z.string(), status: ImageRegionStatus })),
  total_size: z.int(),
});
export type Image = z.output<typeof Image>;

const LABEL = "1 to 50 characters, none of them a control character";
const anyLabel = z
  .string({ error: LABEL })
  .max(50, LABEL)
  .regex(/^[^\p{Cc}]*$/u, LABEL);
const Label = anyLabel.min(1, LABEL);
const DESCRIPTION = "1 to 65000 characters";
const Description = z.string({ error: DESCRIPTION }).min(1, DESCRIPTION).max(65_000, DESCRIPTION);
const CloudInit = z.boolean({ error: "true or false" }).default(false);

export const NewImage = z.object({
  disk_id: z.int({ error: "the id of a disk, a whole number" }).positive("the id of a disk, a whole number"),
  /** An SDK sends an empty label where its user set none. */
  label: anyLabel.transform((label) => (label === "" ? undefined : label)).optional(),
  description: Description.optional(),
  cloud_init: CloudInit,
});
export type NewImage = z.output<typeof NewImage>;

export const NewImageUpload = z.object({
  label: Label,
  region: offered("the id of a region"),
  description: Description.optional(),
  cloud_init: CloudInit,
});
export type NewImageUpload = z.output<typeof NewImageUpload>;

export const ImageUpload = z.object({ image: Image, upload_to: z.string() });
export type ImageUpload = z.output<typeof ImageUpload>;

/** Absent fields stay. */
export const ImageChange = z.object({
  label: Label.optional(),
  /** An SDK that received null sends it back as an empty text. */
  description: z
    .string({ error: `${DESCRIPTION}, or null` })
    .max(65_000, `${DESCRIPTION}, or null`)
    .transform((text) => (text === "" ? null : text))
    .nullable()
    .optional(),
});
export type ImageChange = z.output<typeof ImageChange>;

const image = z.object({ imageId: z.string() });

export const listImages = defineOperation({
  id: "listImages",
  summary: "List the public images and, with a token, the account's own",
  tag: "Images",
  method: "GET",
  path: "/v4/images",
  access: "public",
  scopesIfSent: ["images:read_only"],
  paged: true,
  filterable: {
    label: "string",
    deprecated: "boolean",
    is_public: "boolean",
    size: "number",
    type: "string",
    vendor: "string",
    status: "string",
  },
  unorderable: ["status"],
  rate: "images",
  reply: page(Image),
});

export const captureImage = defineOperation({
  id: "captureImage",
  summary: "Capture an image from a disk",
  note: "A restricted user also needs the grant `read_only` on the disk's compute instance.",
  tag: "Images",
  method: "POST",
  path: "/v4/images",
  access: { scopes: ["images:read_write", "computes:read_only"], grant: "add_images" },
  body: NewImage,
  notOffered: ["tags"],
  rate: "single",
  emits: ["disk_imagize"],
  reply: Image,
});

export const uploadImage = defineOperation({
  id: "uploadImage",
  summary: "Create an image whose data you will upload",
  note: [
    "Send the data by PUT to `upload_to`, with the header `Content-type: application/octet-stream`:",
    "a raw disk, compressed with gzip, by default at most 5 GB, within 24 hours.",
    "The event shows the progress and, if the data cannot be used, the reason.",
  ].join(" "),
  tag: "Images",
  method: "POST",
  path: "/v4/images/upload",
  access: { scopes: ["images:read_write"], grant: "add_images" },
  body: NewImageUpload,
  notOffered: ["tags"],
  rate: "single",
  emits: ["image_upload"],
  secretReply: true,
  reply: ImageUpload,
});

export const viewImage = defineOperation({
  id: "viewImage",
  summary: "View an image",
  note: "A private image needs a token of its account.",
  tag: "Images",
  method: "GET",
  path: "/v4/images/:imageId",
  access: "public",
  scopesIfSent: ["images:read_only"],
  params: image,
  slashParam: "imageId",
  rate: "single",
  reply: Image,
});

export const updateImage = defineOperation({
  id: "updateImage",
  summary: "Change the label or the description of a private image",
  note: "Only private images can be changed; a public one is 403. A restricted user needs the grant `read_write` on it.",
  tag: "Images",
  method: "PUT",
  path: "/v4/images/:imageId",
  access: { scopes: ["images:read_write"] },
  params: image,
  slashParam: "imageId",
  body: ImageChange,
  notOffered: ["tags"],
  rate: "single",
  emits: ["image_update"],
  reply: Image,
});

export const deleteImage = defineOperation({
  id: "deleteImage",
  summary: "Delete a private image",
  note: "Only private images can be deleted; a public one is 403. A restricted user needs the grant `read_write` on it.",
  tag: "Images",
  method: "DELETE",
  path: "/v4/images/:imageId",
  access: { scopes: ["images:read_write"] },
  params: image,
  slashParam: "imageId",
  rate: "single",
  emits: ["image_delete"],
  reply: Empty,
});
