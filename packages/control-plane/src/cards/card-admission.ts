import { ADMISSION_KEY_HEADER } from "#payment-provider/index.ts";

/** Client of the part of `api` that authorizes callers and stores what may be stored. It never gets a card number. */
export type CardAdmission = {
  post(request: AdmissionRequest): Promise<AdmissionReply>;
  /** Rejects if it is unreachable. */
  check(): Promise<void>;
};
/** The caller's own headers, as far as the card admission needs them. */
export type AdmissionRequest = { path: string; headers: Record<string, string>; body: unknown };
export type AdmissionReply = { status: number; headers: Record<string, string>; body: unknown };

/** Longer than `api` waits for its database, and for the provider when it makes a payment. */
const TIMEOUT_MS = 45_000;

/** The request may or may not have been carried out. */
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
