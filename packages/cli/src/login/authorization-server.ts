import type { Configuration } from "openid-client";
import { z } from "zod";
import { refusalOfAuthority } from "../profiles/connection.ts";
import { Refused } from "../refused.ts";
import { texts } from "./texts.ts";

/** The OAuth client of the command line, which every installation has. */
const CLIENT_ID = "moorage-cli";

/** RFC 9728: names the authorization server of an API. */
const Resource = z.object({ authorization_servers: z.array(z.url()).min(1) });

const TIMEOUT_MS = 30_000;

/** The authorization server at which people sign in for this API. */
export async function issuerOf(apiUrl: string): Promise<string> {
  const reply = await request(new URL("/.well-known/oauth-protected-resource", apiUrl));
  const found = Resource.safeParse(reply.ok ? await reply.json().catch(() => undefined) : undefined);
  const issuer = found.data?.authorization_servers[0];
  if (issuer === undefined) throw new Refused(texts.issuerUnknown({ origin: new URL(apiUrl).origin }));
  return issuer;
}

const request = (url: URL): Promise<Response> =>
  inWords(url.origin, () => fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }));

/** Reads the server's metadata. Passwords and tokens are never sent over an unencrypted connection. */
export async function serverAt(issuer: string): Promise<Configuration> {
  const url = new URL(issuer);
  if (url.protocol !== "https:" && !isLoopback(url)) throw new Refused(texts.issuerNotHttps({ issuer }));
  const { allowInsecureRequests, discovery, None } = await oauth();
  return inWords(issuer, () =>
    discovery(url, CLIENT_ID, undefined, None(), {
      algorithm: "oauth2",
      ...(url.protocol === "http:" && { execute: [allowInsecureRequests] }),
    }),
  );
}

const isLoopback = ({ hostname }: URL): boolean => ["127.0.0.1", "[::1]", "localhost"].includes(hostname);

/** Loaded on first use: most commands never need it. */
export const oauth = () => import("openid-client");

/** Revokes a token that `moorage login` obtained. A token that has already ended is no error. */
export async function revokeLogin(issuer: string, token: string): Promise<void> {
  const config = await serverAt(issuer);
  const { tokenRevocation } = await oauth();
  await inWords(issuer, () => tokenRevocation(config, token));
}

/** Turns refusals and connection errors into messages for people. */
export async function inWords<T>(server: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Refused || !(error instanceof Error)) throw error;
    const { error: code, error_description: description } = error as { error?: unknown; error_description?: unknown };
    if (code === "access_denied") throw new Refused(texts.refusedByPerson());
    if (code === "expired_token") throw new Refused(texts.codeExpired());
    if (typeof code === "string")
      throw new Refused(texts.refused({ server, reason: typeof description === "string" ? description : code }));
    const { cause } = error as { cause?: { code?: unknown } };
    const reason = typeof cause?.code === "string" ? cause.code : error.message;
    throw refusalOfAuthority(server, reason) ?? new Refused(texts.serverUnusable({ server, reason }));
  }
}
