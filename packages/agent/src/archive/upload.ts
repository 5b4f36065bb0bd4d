import { PROTOCOL, type UploadsReply, type UploadsRequest } from "@moorage/contract/agent";
import { createPuts } from "../put-objects.ts";
import type { ArchivedNode } from "./archived-node.ts";

export type UploadDeps = { uploads: (message: UploadsRequest, signal: AbortSignal) => Promise<UploadsReply> };

/** Uploads objects of one node's timeline to the store. */
export const createUpload = (deps: UploadDeps, { spec, data }: ArchivedNode, signal: AbortSignal) =>
  createPuts(async (names) => {
    const { node } = spec;
    const { urls } = await deps.uploads({ protocol: PROTOCOL, node, timeline: data.timeline, names }, signal);
    return urls;
  }, signal);
export type Upload = ReturnType<typeof createUpload>;
