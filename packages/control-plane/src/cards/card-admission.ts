import { ADMISSION_KEY_HEADER } from "#payment-provider/index.ts";

/** The part of `api` that decides about callers and keeps what may be kept. It never gets a card. */
export type CardAdmission = {
  post(request: AdmissionRequest): Promise<AdmissionReply>;
  /** Rejects while it does not answer. */
  check(): Promise<void>;
};
/** Headers are the caller's own, as far as the desk needs them. */
export type AdmissionRequest = { path: string; headers: Record<string, string>; body: unknown };
export type AdmissionReply = { status: number; headers: Record<string, string>; body: unknown };

/** Longer than the desk waits for its database, and for the provider that it asks for a payment. */
const TIMEOUT_MS = 45_000;

/** It may have done what it was asked for, or not. */
export class AdmissionUnreachable extends Error {
  override readonly name = "AdmissionUnreachable";
}

export function createHttpCardAdmission({ url, key }: { url: string; key: string }): CardAdmission {
  const call = async (path: string, init: RequestInit): Promise<Response> => {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      return await fetch(new URL(path, url), { ...init, signal, redirect: "error" });
    } catch {
      throw new AdmissionUnreachable();
    }
  };
  return {
    async post({ path, headers, body }) {
      const reply = await call(path, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json", [ADMISSION_KEY_HEADER]: key },
        body: JSON.stringify(body),
      });
      return {
        status: reply.status,
        headers: Object.fromEntries(reply.headers),
        body: await reply.json().catch(() => {
          throw new AdmissionUnreachable();
        }),
      };
    },
    async check() {
      const { ok } = await call("/health", { headers: { [ADMISSION_KEY_HEADER]: key } });
      if (!ok) throw new AdmissionUnreachable();
    },
  };
}
