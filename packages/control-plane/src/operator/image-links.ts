import { toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { type ImageServerAddress, findImageToSend, findPublicImageToSend, signLink } from "#image-server/index.ts";
import { readWireId } from "#images/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { requireRegion } from "./hosts.ts";
import { command, type CommandDeps } from "./operator-route.ts";
import { texts } from "./texts.ts";

export type ImageLinkDeps = CommandDeps & {
  /** Undefined: there is no image server. */
  imageServer: ImageServerAddress | undefined;
};

/** An address from which a hypervisor downloads an image, and the digest to compare. */
export function imageLinkCommands(app: FastifyInstance, deps: ImageLinkDeps): void {
  const { clock, imageServer } = deps;

  command(app, deps, contract.createImageLink, async (tx, { params: { imageId: id }, body }) => {
    if (imageServer === undefined) throw new DomainError("wrong-state", { reason: texts.noImageServer() });
    const { format, hours, region } = body;
    if (region !== undefined) await requireRegion(tx, region);
    const image = await find(tx, id);
    if (image === undefined) throw new DomainError("not-found", { reason: texts.imageNotDeployable({ id }) });
    const until = Math.floor(clock().getTime() / 1000 + hours * 3600);
    return {
      id,
      format,
      region: region ?? null,
      url: signLink(imageServer, { imageId: image.id, format, region, until }),
      until: toTimestamp(new Date(until * 1000)),
      raw_bytes: image.rawBytes,
      raw_sha256: image.rawSha256.toString("hex"),
    };
  });
}

function find(tx: Tx, id: string) {
  const named = readWireId(id);
  if (named === undefined) return undefined;
  return named.kind === "public" ? findPublicImageToSend(tx, named.name) : findImageToSend(tx, named.id);
}
