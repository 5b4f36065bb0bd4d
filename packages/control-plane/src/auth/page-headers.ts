import type { FastifyReply } from "fastify";

export type PageSettings = {
  issuer: string;
  /** Where apps' thumbnails come from, if not from us. */
  imagesFrom?: string | undefined;
};

/**
 * Browsers hold redirects that follow a form to `form-action` too: a page whose form may end at an app names where
 * that is.
 */
const policy = ({ imagesFrom }: PageSettings, formTargets: readonly string[] = []): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    ["img-src 'self'", ...(imagesFrom === undefined ? [] : [new URL(imagesFrom).origin])].join(" "),
    ["form-action 'self'", ...formTargets].join(" "),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");

export const headersOf = (settings: PageSettings): Record<string, string> => ({
  "content-security-policy": policy(settings),
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
  ...(settings.issuer.startsWith("https:") && {
    "strict-transport-security": "max-age=31536000; includeSubDomains",
  }),
});

/** The source of a redirect address, as a policy names it: an origin, or an app's own scheme. */
export function sourceOf(redirectUri: string): string {
  const { protocol, origin } = new URL(redirectUri);
  return origin === "null" ? protocol : origin;
}

export function allowFormTarget(reply: FastifyReply, settings: PageSettings, redirectUri: string): void {
  reply.header("content-security-policy", policy(settings, [sourceOf(redirectUri)]));
}
