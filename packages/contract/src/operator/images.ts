import { z } from "zod";
import { Image as TenantsImage } from "../images.ts";
import { defineOperation } from "../operation.ts";
import { Moment, page, Timestamp } from "../wire.ts";
import { account, Limit, Name, ofAccount } from "./fields.ts";

const NAME = "1 to 64 lower-case letters, digits, dots, dashes or underscores, a letter or digit first";
const END_OF_LIFE = "planned end of life in UTC, such as 2028-06-30T00:00:00";
export const Publication = z.object({
  name: z
    .string({ error: NAME })
    .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, NAME)
    .describe("name of the public image, whose id becomes operator/<name>"),
  label: z.string().min(1).max(50).describe("label of the public image"),
  description: z.string().min(1).max(65_000).describe("description of the public image").optional(),
  vendor: z.string().min(1).max(64).describe("distribution in the image, such as Debian").optional(),
  eol: Moment.describe(END_OF_LIFE).optional(),
  replace: z.boolean().describe("retire the image that has this name now").default(false),
});
export const Image = z.object({
  id: z.string(),
  number: z.int(),
  account: z.int().nullable(),
  label: z.string(),
  description: z.string().nullable(),
  created_by: z.string(),
  vendor: z.string().nullable(),
  deprecated: z.boolean(),
  eol: Timestamp.nullable(),
  type: TenantsImage.shape.type,
  status: TenantsImage.shape.status,
  failed: Timestamp.nullable(),
  region: z.string(),
  size: z.int(),
  stored_bytes: z.int().nullable(),
  expiry: Timestamp.nullable(),
  created: Timestamp,
  updated: Timestamp,
});
export type Image = z.output<typeof Image>;

/** Null: the default for all accounts. */
const OwnImageLimits = z.object({ images: Limit.nullable(), total_mb: Limit.nullable(), raw_mb: Limit.nullable() });
export const ImageLimits = z.object({
  account: z.int(),
  limits: z.object({ images: z.int(), total_mb: z.int(), raw_mb: z.int() }),
  own: z.object({ images: z.int().nullable(), total_mb: z.int().nullable(), raw_mb: z.int().nullable() }),
  used: z.object({ images: z.int(), total_mb: z.int() }),
});
export type ImageLimits = z.output<typeof ImageLimits>;

const LONGEST_HOURS = 7 * 24;
const HOURS = `a number of hours above 0, at most ${LONGEST_HOURS}`;
export const ImageFormat = z.enum(["raw", "gzip"]);
export type ImageFormat = z.output<typeof ImageFormat>;
export const NewImageLink = z.object({
  format: ImageFormat.describe("format of the download: raw or gzip").default("raw"),
  hours: z
    .number({ error: HOURS })
    .positive(HOURS)
    .max(LONGEST_HOURS, HOURS)
    .describe("validity of the URL in hours")
    .default(1),
  region: Name.describe("region whose store is read first (default: the region of the image server)").optional(),
});
export const ImageLink = z.object({
  id: z.string(),
  format: ImageFormat,
  region: z.string().nullable(),
  url: z.string(),
  until: Timestamp,
  raw_bytes: z.int(),
  raw_sha256: z.string(),
});

const image = z.object({ imageId: z.string() });
const common = { audience: "operator", tag: "Images" } as const;

export const listImages = defineOperation({
  ...common,
  id: "listImages",
  summary: "List public images and the images of all accounts",
  method: "GET",
  path: "/admin/images",
  query: ofAccount,
  paged: true,
  reply: page(Image),
});

export const publishImage = defineOperation({
  ...common,
  id: "publishImage",
  summary: "Publish an image, such as private/12, for all accounts",
  note: "A repetition changes its fields.",
  method: "POST",
  path: "/admin/images/:imageId/publish",
  params: image,
  body: Publication,
  reply: Image,
});

export const deprecateImage = defineOperation({
  ...common,
  id: "deprecateImage",
  summary: "Mark a public image as deprecated: it should not be deployed any more",
  method: "POST",
  path: "/admin/images/:imageId/deprecate",
  params: image,
  body: z.object({ eol: Moment.describe(END_OF_LIFE).optional() }),
  reply: Image,
});

export const retireImage = defineOperation({
  ...common,
  id: "retireImage",
  summary: "Delete a public image permanently",
  method: "POST",
  path: "/admin/images/:imageId/retire",
  params: image,
  reply: Image,
});

export const createImageLink = defineOperation({
  ...common,
  id: "createImageLink",
  summary: "Create a download URL of an image, such as private/12 or operator/debian12, for a hypervisor",
  method: "POST",
  path: "/admin/images/:imageId/link",
  params: image,
  body: NewImageLink,
  reply: ImageLink,
});

export const viewImageLimits = defineOperation({
  ...common,
  id: "viewImageLimits",
  summary: "Show the image limits of an account",
  method: "GET",
  path: "/admin/accounts/:accountId/image-limits",
  params: account,
  reply: ImageLimits,
});

export const setImageLimits = defineOperation({
  ...common,
  id: "setImageLimits",
  summary: "Change the named image limits of an account",
  note: "A lower limit deletes no image.",
  method: "PUT",
  path: "/admin/accounts/:accountId/image-limits",
  params: account,
  body: OwnImageLimits.partial(),
  reply: ImageLimits,
});
