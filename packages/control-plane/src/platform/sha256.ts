import { hash } from "node:crypto";

export const sha256 = (data: string | Uint8Array): Buffer => hash("sha256", data, "buffer");
