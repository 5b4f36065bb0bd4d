import { createHmac, timingSafeEqual } from "node:crypto";
import { ImageFormat } from "@moorage/contract/operator";
import type { Text } from "@moorage/contract/texts";
import { z } from "zod";
import { texts } from "./texts.ts";

/** The scope of an address: every part of it is signed. */
export type Link = {
  imageId: number;
  format: ImageFormat;
  /** The region whose store is read first, if not the image server's own. */
  region?: string | undefined;
  /** In seconds since 1970. */
  until: number;
};

export type ImageServerAddress = { url: string; key: string };

const pathOf = (imageId: number): string => `/images/${imageId}`;

/** The region comes last: it is the only part that could contain a line break. */
const signatureOf = (key: string, { imageId, format, region = "", until }: Link): Buffer =>
  createHmac("sha256", key)
    .update(["moorage-image-server-1", pathOf(imageId), format, until, region].join("\n"))
    .digest();

export function signLink({ url, key }: ImageServerAddress, link: Link): string {
  const query = new URLSearchParams({
    format: link.format,
    ...(link.region !== undefined && { region: link.region }),
    until: String(link.until),
    signature: signatureOf(key, link).toString("base64url"),
  });
  return `${url.replace(/\/+$/, "")}${pathOf(link.imageId)}?${query.toString()}`;
}

const WholeNumber = z
  .string()
  .regex(/^[1-9]\d{0,14}$/)
  .transform(Number);
const Query = z.strictObject({
  format: ImageFormat,
  region: z.string().optional(),
  until: WholeNumber,
  signature: z.string(),
});

export type Judged = { kind: "good"; link: Link } | { kind: "refused"; reason: Text };

/** Reasons are given only for an address that was signed here. */
export function judgeLink(key: string, id: string, query: unknown, now: Date): Judged {
  const parsed = Query.safeParse(query);
  const imageId = WholeNumber.safeParse(id);
  if (!parsed.success || !imageId.success) return unsigned;
  const { signature, ...rest } = parsed.data;
  const link: Link = { imageId: imageId.data, ...rest };
  const given = Buffer.from(signature, "base64url");
  const own = signatureOf(key, link);
  if (given.length !== own.length || !timingSafeEqual(given, own)) return unsigned;
  if (now.getTime() >= link.until * 1000)
    return { kind: "refused", reason: texts.linkExpired({ at: new Date(link.until * 1000) }) };
  return { kind: "good", link };
}

const unsigned: Judged = { kind: "refused", reason: texts.linkSignatureInvalid() };
