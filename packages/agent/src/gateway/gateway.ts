import { randomBytes } from "node:crypto";
import {
  ArchivedReply,
  type ArchivedRequest,
  CertificateReply,
  type CertificateRequest,
  DesiredReply,
  type DesiredRequest,
  EnrolReply,
  type EnrolRequest,
  type ImageUploadsRequest,
  KeyringReply,
  type KeyringRequest,
  ObservedReply,
  type ObservedRequest,
  RecipeReply,
  type RecipeRequest,
  RenewReply,
  type RenewRequest,
  SamplesReply,
  type SamplesRequest,
  SecretsReply,
  type SecretsRequest,
  UploadsReply,
  type UploadsRequest,
  VerifiedReply,
  type VerifiedRequest,
} from "@moorage/contract/agent";
import { Agent, request } from "undici";
import type { z } from "zod";
import { GatewayAway } from "../base/try-again.ts";

export type Identity = { key: string; cert: string };

export class GatewayRefused extends Error {
  override readonly name = "GatewayRefused";
}

/** The calls of the agent protocol, over mutual TLS; without an identity only `enrol` is served. */
export function connectGateway(url: string, ca: string, identity?: Identity) {
  // The gateway holds a poll for 10 s; a call that takes three times as long counts as lost.
  const dispatcher = new Agent({
    connect: { ca, ...identity, timeout: 5000 },
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
    keepAliveTimeout: 60_000,
  });
  async function call<T>(path: string, message: unknown, reply: z.ZodType<T>, signal?: AbortSignal): Promise<T> {
    const traceparent = newTraceparent();
    const response = request(new URL(path, url), {
      dispatcher,
      method: "POST",
      headers: { "content-type": "application/json", traceparent },
      body: JSON.stringify(message),
      signal: signal ?? null,
    });
    const { statusCode, text } = await response
      .then(async (answer) => ({ statusCode: answer.statusCode, text: await answer.body.text() }))
      .catch((cause: unknown) => {
        throw new GatewayAway(`${path} was not answered: ${String(cause)}`, { cause });
      });
    if (statusCode >= 500) throw new GatewayAway(`${path} answered ${statusCode} (${traceparent}).`);
    if (statusCode !== 200)
      throw new GatewayRefused(`${path} answered ${statusCode} (${traceparent}): ${text.slice(0, 300)}`);
    return reply.parse(JSON.parse(text));
  }
  return {
    enrol: (message: EnrolRequest, signal?: AbortSignal) => call("/v1/enrol", message, EnrolReply, signal),
    renew: (message: RenewRequest, signal?: AbortSignal) => call("/v1/renew", message, RenewReply, signal),
    desired: (message: DesiredRequest, signal?: AbortSignal) => call("/v1/desired", message, DesiredReply, signal),
    observed: (message: ObservedRequest, signal?: AbortSignal) => call("/v1/observed", message, ObservedReply, signal),
    certificate: (message: CertificateRequest) => call("/v1/certificate", message, CertificateReply),
    keyring: (message: KeyringRequest) => call("/v1/keyring", message, KeyringReply),
    recipe: (message: RecipeRequest) => call("/v1/recipe", message, RecipeReply),
    verified: (message: VerifiedRequest) => call("/v1/verified", message, VerifiedReply),
    samples: (message: SamplesRequest, signal?: AbortSignal) => call("/v1/samples", message, SamplesReply, signal),
    uploads: (message: UploadsRequest, signal?: AbortSignal) => call("/v1/uploads", message, UploadsReply, signal),
    imageUploads: (message: ImageUploadsRequest, signal?: AbortSignal) =>
      call("/v1/image-uploads", message, UploadsReply, signal),
    archived: (message: ArchivedRequest, signal?: AbortSignal) => call("/v1/archived", message, ArchivedReply, signal),
    secrets: (message: SecretsRequest) => call("/v1/secrets", message, SecretsReply),
    close: (): Promise<void> => dispatcher.destroy(),
  };
}
export type Gateway = ReturnType<typeof connectGateway>;

/** Starts a trace (W3C Trace Context), which the gateway continues if it records traces. The agent records none. */
const newTraceparent = (): string => `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
