import { ErrorReply } from "@moorage/contract";

/** A refusal of the control plane, in its own words. */
export class Refused extends Error {
  override readonly name = "Refused";
}

export type AdminClient = {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: object): Promise<T>;
};

export function createAdminClient(url: string, token: string): AdminClient {
  const call = async <T>(path: string, init: RequestInit): Promise<T> => {
    const reply = await fetch(new URL(path, url), {
      ...init,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
    const body: unknown = await reply.json();
    if (reply.ok) return body as T;
    const { errors } = ErrorReply.parse(body);
    throw new Refused(errors.map(({ reason }) => reason).join("\n"));
  };
  return {
    get: (path) => call(path, { method: "GET" }),
    post: (path, body) => call(path, { method: "POST", body: JSON.stringify(body) }),
  };
}
