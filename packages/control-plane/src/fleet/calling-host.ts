import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { FastifyRequest } from "fastify";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { sha256 } from "#platform/sha256.ts";
import { findHostByKey, type HostRow } from "./host-store.ts";
import { noteSource } from "./host-sources.ts";
import { texts } from "./texts.ts";

const DAY_MS = 86_400_000;

/** `certificateDays`: how long a host's certificate is accepted after it was issued. */
export type CallingDeps = { db: Db; clock: Clock; certificateDays: number };

export const noCertificate = (): DomainError =>
  new DomainError("unauthorized", { reason: texts.certificateRequired() });

/** A certificate authenticates one host, while it is young and the row of that host names its key. */
export async function callingHost(
  { db, clock, certificateDays: days }: CallingDeps,
  request: FastifyRequest,
): Promise<HostRow> {
  const socket = request.raw.socket as TLSSocket;
  if (!socket.authorized) throw noCertificate();
  const host = await requireValid(db, keyOf(request));
  const validFrom = new Date(socket.getPeerCertificate().valid_from);
  if (clock().getTime() - validFrom.getTime() > days * DAY_MS)
    throw new DomainError("unauthorized", { reason: texts.certificateTooOld({ name: host.name, days }) });
  await noteSource(db, host.id, request.ip, clock());
  return host;
}

/** The host that may use this key now. */
export async function requireValid(db: Db, key: Buffer): Promise<HostRow> {
  const host = await findHostByKey(db, key);
  if (host === undefined || host.state === "dead") throw noCertificate();
  return host;
}

/** The SHA-256 of the public key, of which the caller has the private one. */
export function keyOf(request: FastifyRequest): Buffer {
  const { raw } = (request.raw.socket as TLSSocket).getPeerCertificate();
  const { publicKey } = new X509Certificate(raw);
  return sha256(publicKey.export({ format: "der", type: "spki" }));
}
