import type { FastifyReply } from "fastify";

export type PageSettings = {
  issuer: string;
  /** The origin of apps' thumbnails, if it is not this server. */
  imagesFrom?: string | undefined;
};

/**
 * Browsers apply `form-action` also to redirects after a form: a page whose form may redirect to an app must name the
 * target.
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

/** The CSP source of a redirect address: an origin, or an app's own scheme. */
export function sourceOf(redirectUri: string): string {
  const { protocol, origin } = new URL(redirectUri);
  return origin === "null" ? protocol : origin;
}

export function allowFormTarget(reply: FastifyReply, settings: PageSettings, redirectUri: string): void {
  reply.header("content-security-policy", policy(settings, [sourceOf(redirectUri)]));
}
